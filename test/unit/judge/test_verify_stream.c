// SPDX-License-Identifier: MIT
#include <string.h>
#include "test/unit/unit.h"
#include "emu/judge/run/stream.h"

static struct scenario planned[] = {
	{ .id = "plain" },
	{ .id = "plain/alloc-1", .keys = "alloc=1" },
	{ .id = "iommu", .boot = BOOT_IOMMU },
};

static const struct scenarios plan = { planned, 3 };
static struct results results;
static struct recording recording;
static struct stream stream;

static int setup(void **state)
{
	(void)state;
	stream = (struct stream) {
		.plan = &plan, .results = &results, .recording = &recording, .current = -1,
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	results_free(&results);
	recording_free(&recording);
	return 0;
}

static void say(const char *text)
{
	stream_feed(&stream, text, strlen(text));
}

static const char whole[] =
	"begin plain\n"
	"event plain kernel 1 dma_map_pages by direct\n"
	"event plain user 1 ioctl 0xc010dd01 on /dev/direct0\n"
	"test plain exit 0\n"
	"fired plain no\n"
	"end plain clean\n"
	"begin plain/alloc-1\n"
	"test plain/alloc-1 signal 11\n"
	"fired plain/alloc-1 yes\n"
	"finding plain/alloc-1 use-after-free BUG kmalloc-64: Poison overwritten\n"
	"finding plain/alloc-1 crashed\n"
	"log plain/alloc-1  indented line\n"
	"end plain/alloc-1 dirty\n";

static void is_whole(void)
{
	assert_int_equal(results.count, 2);
	assert_true(results.at[0].ended && results.at[0].clean && !results.at[0].fired);
	assert_string_equal(results.at[0].test, "exit 0");
	assert_true(results.at[1].ended && !results.at[1].clean && results.at[1].fired);
	assert_string_equal(results.at[1].test, "signal 11");
	assert_int_equal(results.at[1].nr_findings, 2);
	assert_string_equal(results.at[1].findings[0].rule, "use-after-free");
	assert_string_equal(results.at[1].findings[0].text, "BUG kmalloc-64: Poison overwritten");
	assert_string_equal(results.at[1].findings[1].text, "");
	assert_string_equal(results.at[1].log[0].text, " indented line");
	assert_int_equal(recording.count, 2);
	assert_int_equal(recording.events[0].side, EVENT_KERNEL);
	assert_string_equal(recording.events[1].text, "ioctl 0xc010dd01 on /dev/direct0");
	assert_int_equal(stream.strange, 0);
	assert_null(stream_current(&stream));
}

static void whole_stream_is_parsed(void **state)
{
	(void)state;
	say(whole);
	is_whole();
}

static void single_bytes_are_parsed(void **state)
{
	const char *p;

	(void)state;
	for (p = whole; *p; p++)
		stream_feed(&stream, p, 1);
	is_whole();
}

/* The end of the VM may cut a line. Such a line is ignored. */
static void cut_line_is_ignored(void **state)
{
	static const char rule[] = "finding plain/alloc-1 use-after-free";
	size_t length;

	(void)state;
	for (length = 0; length < sizeof(whole) - 1; length++) {
		setup(NULL);
		stream_feed(&stream, whole, length);
		assert_int_equal(stream.strange, 0);
		if (results.count == 2 && results.at[1].nr_findings)
			assert_true(length > (size_t)(strstr(whole, rule) - whole) + sizeof(rule));
		teardown(NULL);
	}
}

static void says_nothing(const char *line)
{
	size_t findings = results.count ? results.at[0].nr_findings : 0;
	size_t count = results.count, events = recording.count, strange = stream.strange;
	struct result *current = stream_current(&stream);

	say(line);
	if (stream.strange != strange + 1 || results.count != count || recording.count != events ||
	    (count && results.at[0].nr_findings != findings) || stream_current(&stream) != current)
		fail_msg("'%s' changed something", line);
}

static void bad_lines_before_begin_are_counted(void **state)
{
	(void)state;
	says_nothing("\n");
	says_nothing("begin\n");
	says_nothing("begin iommu\n");		/* this scenario is not the next in the plan */
	says_nothing("begin plainer\n");
	says_nothing("end plain clean\n");
	says_nothing("finding plain data-wrong x\n");
	says_nothing("event plain kernel 1 x\n");
}

static void bad_lines_in_scenario_are_counted(void **state)
{
	(void)state;
	say("begin plain\n");
	says_nothing("begin plain/alloc-1\n");
	says_nothing("end plain\n");
	says_nothing("end plain filthy\n");
	says_nothing("end iommu clean\n");
	says_nothing("finding plain\n");
	says_nothing("finding iommu data-wrong x\n");
	says_nothing("fired plain maybe\n");
	says_nothing("event plain moon 1 x\n");
	says_nothing("event plain kernel none x\n");
	says_nothing("event plain kernel\n");
	says_nothing("test plain\n");
	says_nothing("What the test program itself prints\n");
	assert_non_null(stream_current(&stream));
}

static void long_lines_are_cut(void **state)
{
	static char line[3000];
	const struct finding *finding;

	(void)state;
	say("begin plain\n");
	memset(line, 'x', sizeof(line) - 2);
	memcpy(line, "finding plain hang ", 19);
	line[sizeof(line) - 2] = '\n';
	say(line);
	say("end plain clean\n");
	finding = &results.at[0].findings[0];
	assert_int_equal(strlen(finding->text), sizeof(finding->text) - 1);
	assert_true(results.at[0].ended);
}

/* Kernel logs and paths may contain any bytes, and verify prints them to a terminal. */
static void control_characters_are_blanks(void **state)
{
	(void)state;
	say("begin plain\nlog plain a\033[2Jb\rc\302\233d \303\233\n"
	    "event plain user 1 close on /dev/\033[2J\ntest plain exit\r0\nfinding plain leaked \177\n");
	assert_string_equal(results.at[0].log[0].text, "a [2Jb c  d \303\233");
	assert_string_equal(recording.events[0].text, "close on /dev/ [2J");
	assert_string_equal(results.at[0].test, "exit 0");
	assert_string_equal(results.at[0].findings[0].text, " ");
}

static void restarted_scenario_drops_old_results(void **state)
{
	(void)state;
	say("begin plain\nevent plain user 1 close on /dev/x\ntest plain exit 1\nlog plain a\nfired plain yes\n"
	    "finding plain leaked x\nbegin plain\nevent plain user 1 read of /dev/x\ntest plain exit 0\nend plain clean\n");
	assert_int_equal(results.count, 1);
	assert_true(results.at[0].ended);
	assert_false(results.at[0].armed || results.at[0].fired);
	assert_int_equal(results.at[0].nr_findings, 0);
	assert_int_equal(results.at[0].nr_log, 0);
	assert_string_equal(results.at[0].test, "exit 0");
	assert_int_equal(recording.count, 1);
	assert_string_equal(recording.events[0].text, "read of /dev/x");
}

static void noise_does_no_harm(void **state)
{
	static const char *const words[] = { "begin ", "plain", " ", "\n", "end ", "clean\n", "finding ", "log ", "x",
					     "event ", "kernel ", "1 ", "fired plain yes\n" };
	uint64_t seed = 1;
	char byte;
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		byte = (char)(seed >> 56);
		if (seed >> 32 & 1)
			stream_feed(&stream, &byte, 1);
		else
			say(words[(seed >> 40) % (sizeof(words) / sizeof(words[0]))]);
		assert_true(results.count <= plan.count);
	}
	assert_true(stream.strange > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole_stream_is_parsed, setup, teardown),
		cmocka_unit_test_setup_teardown(single_bytes_are_parsed, setup, teardown),
		cmocka_unit_test_setup_teardown(cut_line_is_ignored, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_lines_before_begin_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_lines_in_scenario_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(long_lines_are_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(control_characters_are_blanks, setup, teardown),
		cmocka_unit_test_setup_teardown(restarted_scenario_drops_old_results, setup, teardown),
		cmocka_unit_test_setup_teardown(noise_does_no_harm, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
