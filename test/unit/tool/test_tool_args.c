// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tool/util/args.h"
#include "tool/copy/pattern.h"
#include "tool/tool.h"
#include "test/unit/unit.h"
#include "tool/util/units.h"

#undef fail	/* cmocka and the tool both define fail() */

static int complaints;
static char complaint[512];

static void note(const char *format, va_list args)
{
	complaints++;
	vsnprintf(complaint, sizeof(complaint), format, args);
}

int fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(format, args);
	va_end(args);
	return EXIT_FAILED;
}

int usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(format, args);
	va_end(args);
	return EXIT_USAGE;
}

static int setup(void **state)
{
	(void)state;
	complaints = 0;
	return 0;
}

/* Split @line at blanks and parse the words. */
static int parse(const char *line, struct copy_args *out)
{
	static char buffer[256];
	char *argv[32], *rest = buffer;
	int argc = 0;

	snprintf(buffer, sizeof(buffer), "%s", line);
	while ((argv[argc] = strsep(&rest, " ")))
		argc++;
	return parse_copy_args(argc, argv, out);
}

static void refuses(const char *line, int status, const char *says)
{
	struct copy_args args;

	complaints = 0;
	assert_int_equal(parse(line, &args), status);
	assert_int_equal(complaints, 1);
	assert_non_null(strstr(complaint, says));
}

static void copy_has_defaults(void **state)
{
	struct copy_args a;

	(void)state;
	assert_int_equal(parse("copy", &a), 0);
	assert_string_equal(a.peer, "lsi0");
	assert_int_equal(a.from, SIDE_GPU);
	assert_int_equal(a.to, SIDE_GPU);
	assert_int_equal(a.size, 8 << 20);
	assert_int_equal(a.repeat, 1);
	assert_false(a.verify);
	assert_false(a.json);
}

static void all_options_are_parsed(void **state)
{
	struct copy_args a;

	(void)state;
	assert_int_equal(parse("copy --peer lsi3 --from host --to gpu --size=3K --repeat 7 --verify --json",
			       &a), 0);
	assert_string_equal(a.peer, "lsi3");
	assert_int_equal(a.from, SIDE_HOST);
	assert_int_equal(a.to, SIDE_GPU);
	assert_int_equal(a.size, 3072);
	assert_int_equal(a.repeat, 7);
	assert_true(a.verify);
	assert_true(a.json);
	assert_int_equal(complaints, 0);
}

static void usage_errors_are_reported(void **state)
{
	(void)state;
	refuses("copy --from disk", EXIT_USAGE, "--from");
	refuses("copy --to 1", EXIT_USAGE, "--to");
	refuses("copy --size x", EXIT_USAGE, "not x");
	refuses("copy --size -1", EXIT_USAGE, "not -1");
	refuses("copy --repeat 0", EXIT_USAGE, "--repeat");
	refuses("copy --repeat 1000001", EXIT_USAGE, "--repeat");
	refuses("copy --repeat", EXIT_USAGE, "needs a value");
	refuses("copy --repeat 1K", EXIT_USAGE, "not 1K");
	refuses("copy --frobnicate", EXIT_USAGE, "--frobnicate");
	refuses("copy --json=1", EXIT_USAGE, "--json=1");
	refuses("copy -xy", EXIT_USAGE, "-x");
	refuses("copy --json -j", EXIT_USAGE, "-j");
	refuses("copy 8M", EXIT_USAGE, "8M");
}

/* If the first side counted, the copy would go to the wrong file, or to a file instead of memory. */
static void last_of_repeated_sides_counts(void **state)
{
	struct copy_args a;

	(void)state;
	assert_int_equal(parse("copy --to file:new --from file:old --from gpu --overwrite", &a), 0);
	assert_true(a.from == SIDE_GPU && a.to == SIDE_FILE);
	assert_string_equal(a.path, "new");
	assert_int_equal(parse("copy --from file:a --from file:b", &a), 0);
	assert_string_equal(a.path, "b");
	assert_int_equal(parse("copy --to file:x --to gpu", &a), 0);
	assert_null(a.path);
	assert_string_equal(a.peer, "lsi0");
	assert_int_equal(parse("copy --from file:x --from host --to gpu", &a), 0);
	assert_true(a.from == SIDE_HOST && !a.path);
}

static void file_can_be_a_side(void **state)
{
	struct copy_args a;

	(void)state;
	assert_int_equal(parse("copy --from file:/a/b:c", &a), 0);
	assert_true(a.from == SIDE_FILE && a.to == SIDE_GPU);
	assert_string_equal(a.path, "/a/b:c");
	assert_int_equal(a.size, 0);
	assert_int_equal(parse("copy --to file:x --size 4K --overwrite", &a), 0);
	assert_true(a.from == SIDE_GPU && a.to == SIDE_FILE && a.overwrite);
	assert_int_equal(a.size, 4096);
	assert_int_equal(parse("copy --to file:x", &a), 0);
	assert_int_equal(a.size, 8 << 20);
	refuses("copy --from file:", EXIT_USAGE, "file:PATH");
	refuses("copy --to file:x --to host --overwrite", EXIT_USAGE, "--overwrite");
	refuses("copy --from file:x --to host", EXIT_USAGE, "give gpu");
	refuses("copy --from file:x --to file:y", EXIT_USAGE, "give gpu");
	refuses("copy --from file:x --peer lsi1", EXIT_USAGE, "leave --peer out");
	refuses("copy --from file:x --overwrite", EXIT_USAGE, "--to file:PATH");
}

static void bad_copy_sizes_are_refused(void **state)
{
	(void)state;
	refuses("copy --size 0", EXIT_USAGE, "--size 8M");
	refuses("copy --size 99999999999999G", EXIT_USAGE, "smaller");
}

static void bar_arguments_are_parsed(void **state)
{
	char bar[] = "bar", json[] = "--json", other[] = "--gpu";
	char *plain[] = { bar, NULL };
	char *with_json[] = { bar, json, NULL };
	char *with_other[] = { bar, other, NULL };
	bool on = true;

	(void)state;
	assert_int_equal(parse_bar_args(1, plain, &on), 0);
	assert_false(on);
	assert_int_equal(parse_bar_args(2, with_json, &on), 0);
	assert_true(on);
	assert_int_equal(parse_bar_args(2, with_other, &on), EXIT_USAGE);
}

static uint64_t other_seeds(uint64_t seed)
{
	static unsigned char x[64], y[64];
	uint64_t same = 0, i;

	pattern_fill(x, sizeof(x), seed, 0);
	for (i = 0; i < 3; i++) {
		pattern_fill(y, sizeof(y), pattern_other(seed, i), 0);
		same += !memcmp(x, y, sizeof(x));
		same += pattern_other(seed, i) == pattern_other(seed, i + 1);
	}
	return same;
}

/* Old contents must differ from the data, even for a bad seed. */
static void patterns_differ(void **state)
{
	(void)state;
	assert_int_equal(other_seeds(0), 0);
	assert_int_equal(other_seeds(UINT64_MAX), 0);
	assert_int_equal(other_seeds(1700000000), 0);
}

static void good_size(const char *text, uint64_t bytes)
{
	uint64_t n = 0;

	assert_int_equal(parse_size(text, &n), 0);
	assert_int_equal(n, bytes);
}

static void sizes_with_suffixes_are_parsed(void **state)
{
	(void)state;
	good_size("1", 1);
	good_size("0", 0);
	good_size("4096", 4096);
	good_size("4k", 4096);
	good_size("8M", 8 << 20);
	good_size("2G", 2ull << 30);
	good_size("18446744073709551615", UINT64_MAX);
	good_size("17179869183G", 17179869183ull << 30);
}

static void bad_sizes_are_refused(void **state)
{
	static const char *const bad[] = {
		"", "M", "-1", "+1", " 1", "1T", "1MB", "1M ", "0x10", "1.5M",
	};
	uint64_t n;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse_size(bad[i], &n), -EINVAL);
	assert_int_equal(parse_size("18446744073709551616", &n), -ERANGE);
	assert_int_equal(parse_size("17179869184G", &n), -ERANGE);
}

static void values_are_formatted_with_units(void **state)
{
	(void)state;
	assert_string_equal(text_bytes(1).at, "1 byte");
	assert_string_equal(text_bytes(8 << 20).at, "8.0 MiB");
	assert_string_equal(text_bytes(1536).at, "1.5 KiB");
	assert_string_equal(text_mib(256 << 20).at, "256 MiB");
	assert_string_equal(text_time(1500).at, "1.5 us");
	assert_string_equal(text_time(2340000).at, "2.34 ms");
	assert_string_equal(text_time(12000000000).at, "12.0 s");
	assert_string_equal(text_rate(8000000, 2000000).at, "4.00 GB/s");
	assert_string_equal(text_rate(1, 0).at, "0.00 GB/s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(copy_has_defaults, setup),
		cmocka_unit_test_setup(all_options_are_parsed, setup),
		cmocka_unit_test_setup(usage_errors_are_reported, setup),
		cmocka_unit_test_setup(file_can_be_a_side, setup),
		cmocka_unit_test_setup(last_of_repeated_sides_counts, setup),
		cmocka_unit_test_setup(bad_copy_sizes_are_refused, setup),
		cmocka_unit_test_setup(bar_arguments_are_parsed, setup),
		cmocka_unit_test_setup(patterns_differ, setup),
		cmocka_unit_test_setup(sizes_with_suffixes_are_parsed, setup),
		cmocka_unit_test_setup(bad_sizes_are_refused, setup),
		cmocka_unit_test_setup(values_are_formatted_with_units, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
