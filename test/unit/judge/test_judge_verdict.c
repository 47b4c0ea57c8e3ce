// SPDX-License-Identifier: MIT
/* What the guest says about a test program that failed, and about violations by the driver. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "test/unit/unit.h"
#include "emu/include/emugpu.h"
#include "emu/judge/guest/verdict.h"
#include "emu/judge/log/report.h"

static char said[4096];

static FILE *file;
static int out;

/* Until listen_end(), the guest's report goes to @said. */
static void listen_begin(void)
{
	file = tmpfile();
	out = dup(STDOUT_FILENO);
	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	report_begin("plain");
}

static void listen_end(void)
{
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
	fclose(file);
}

/* Stores in @said what the guest reports if a test exits with @status in @scenario. */
static void judge(const struct scenario *scenario, int status, bool fired)
{
	static struct share share;
	struct tests tests = { .nr = 1, .at[0] = { .share = &share, .ended = true, .end = TEST_EXIT, .value = status } };

	listen_begin();
	verdict_tests(scenario, &tests, fired);
	listen_end();
}

/* Stores in @said what the guest reports if the emulator's table has @line. The driver is named "direct". */
static void find(const char *line)
{
	static const struct driver driver = { .name = "direct" };
	static const struct violations before;
	struct violations now = { .nr = 1 };

	assert_true(violation_parse(line, &now.at[0]));
	listen_begin();
	verdict_compare(&before, &now, &driver, false);
	listen_end();
}

static void says(const char *what)
{
	if (!strstr(said, what))
		fail_msg("'%s' is not in: %s", what, said);
}

static void silent_test_is_called_silent(void **state)
{
	static const struct scenario plain = { .version = "" };

	(void)state;
	judge(&plain, 1, false);
	says("finding plain test-failed exit status 1, and this scenario has no fault; the test printed nothing\n");
	judge(&plain, 2, false);
	says("finding plain data-wrong exit status 2; the test printed nothing\n");
}

static void missing_fault_is_called_missing(void **state)
{
	static const struct scenario scenarios[] = {
		{ .version = "", .kernel_nth = 3, .kernel_action = EMUGPU_ACT_REVOKE },
		{ .version = "", .user_nth = 3, .user_action = SHARE_KILL },
		{ .version = "", .alloc = 3 },
		{ .version = "", .fail = PLAN_FAIL_GET_PAGES, .fail_nth = 3 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		judge(&scenarios[i], 1, false);
		says("finding plain test-failed exit status 1, and the fault of this scenario did not happen; ");
		judge(&scenarios[i], 1, true);
		assert_null(strstr(said, "finding"));
	}
}

static void finding_names_the_drivers_function(void **state)
{
	(void)state;
	find("2 direct direct_unpin+0x23/0x90 [direct] put-of-dead-table: put_pages (12.3)");
	says("finding plain put-of-dead-table direct, direct_unpin+0x23/0x90 [direct]: put_pages (12.3) (2 times)\n");
	find("1 direct at its end pin-leaked: a pin (12.3)");
	says("finding plain pin-leaked direct, at its end: a pin (12.3) (1 times)\n");
	find("1 other other_unpin+0x23/0x90 [other] put-of-dead-table: put_pages (12.3)");
	assert_null(strstr(said, "finding"));
}

/* A function of the driver that ends with a tail call leaves the return address of its caller, which is no subject. */
static void tail_call_is_the_drivers(void **state)
{
	(void)state;
	find("1 kernel __x64_sys_ioctl+0x8f/0xd0 unaligned: a length (12.2)");
	says("finding plain unaligned direct, a function called by __x64_sys_ioctl+0x8f/0xd0: a length (12.2) (1 times)\n");
	find("1 direct __x64_sys_ioctl+0x8f/0xd0 put-wrong-kind: a pin (ch. 10)");
	says("finding plain put-wrong-kind direct, a function called by __x64_sys_ioctl+0x8f/0xd0: a pin (ch. 10) (1 times)\n");
}

/* The emulated InfiniBand core calls the client of peer memory, which ends with a tail call. */
static void tail_call_of_peer_memory_is_the_drivers(void **state)
{
	(void)state;
	find("1 direct umem_call_put+0x3f/0x80 [ib_peer_shim] put-by-other-process: put_pages (12.3)");
	says("put-by-other-process direct, a function called by umem_call_put+0x3f/0x80 [ib_peer_shim]: put_pages (12.3)");
	find("1 ib_peer_shim umem_call_put+0x3f/0x80 [ib_peer_shim] put-of-dead-table: put_pages (12.3)");
	says("put-of-dead-table direct, a function called by umem_call_put+0x3f/0x80 [ib_peer_shim]: put_pages (12.3)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent_test_is_called_silent),
		cmocka_unit_test(missing_fault_is_called_missing),
		cmocka_unit_test(finding_names_the_drivers_function),
		cmocka_unit_test(tail_call_is_the_drivers),
		cmocka_unit_test(tail_call_of_peer_memory_is_the_drivers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
