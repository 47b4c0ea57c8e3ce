// SPDX-License-Identifier: MIT
/* Verdicts of bench/claim.h: kept, broken, or none. A case with a broken claim fails. */
#include <fcntl.h>
#include <math.h>
#include <unistd.h>
#include "bench/claim.h"
#include "test/unit/unit.h"

static void assert_verdict(struct claim c, const char *want)
{
	assert_string_equal(claim_verdict(&c), want);
}

static void claim_with_bound_is_judged(void **state)
{
	(void)state;
	assert_verdict((struct claim){ .ours = 114, .theirs = 100, .times = 1.15 }, "kept");
	assert_verdict((struct claim){ .ours = 116, .theirs = 100, .times = 1.15 }, "BROKEN");
	assert_verdict((struct claim){ .ours = 103, .theirs = 100, .more = 3 }, "kept");
	assert_verdict((struct claim){ .ours = 104, .theirs = 100, .more = 3 }, "BROKEN");
	assert_verdict((struct claim){ .ours = 200, .theirs = 1, .most = 200 }, "kept");
	assert_verdict((struct claim){ .ours = 201, .theirs = 1, .most = 200 }, "BROKEN");
}

static void claim_without_bound_is_reported(void **state)
{
	(void)state;
	assert_verdict((struct claim){ .ours = 1000, .theirs = 1 }, "-");
}

static void missing_measurement_breaks_claim(void **state)
{
	(void)state;
	assert_verdict((struct claim){ .ours = NAN, .most = 1 }, "BROKEN");
	assert_verdict((struct claim){ .ours = 1, .theirs = NAN, .times = 2 }, "BROKEN");
}

static void is_written(const struct claim *c, const char *want)
{
	char text[256] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");

	assert_non_null(f);
	claim_write(f, c);
	fclose(f);
	assert_string_equal(text, want);
}

static void fields_are_in_order(void **state)
{
	(void)state;
	is_written(&(struct claim){ .what = "a", .of = "b", .ours = 1.5, .beside = "c", .theirs = 2, .times = 1.15 },
		   "claim\ta, b\t1.500\tc\t2.000\tns\ttimes\t1.15\tkept\n");
	is_written(&(struct claim){ .what = "a", .unit = "B", .ours = 9, .most = 8 },
		   "claim\ta\t9.000\t-\t0.000\tB\tmost\t8\tBROKEN\n");
}

CASE(keeps)
{
	CLAIM(.what = "all is well", .ours = 1, .theirs = 1, .times = 1);
}

CASE(breaks)
{
	CLAIM(.what = "it is not", .ours = 2, .theirs = 1, .times = 1);
	CLAIM(.what = "told all the same", .ours = 1, .theirs = 1, .times = 1);
}

/* Discard the output of inner cases: it would count as TAP of this program. */
static int run_quietly(char **names)
{
	int out = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY), ret;

	assert_true(out >= 0 && null >= 0);
	fflush(stdout);
	dup2(null, STDOUT_FILENO);
	ret = vmtest_main(names);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(null);
	close(out);
	return ret;
}

static void broken_claim_fails_its_case(void **state)
{
	char *kept[] = { "keeps", NULL }, *broken[] = { "breaks", NULL };

	(void)state;
	assert_int_equal(run_quietly(kept), 0);
	assert_int_equal(run_quietly(broken), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claim_with_bound_is_judged),
		cmocka_unit_test(claim_without_bound_is_reported),
		cmocka_unit_test(missing_measurement_breaks_claim),
		cmocka_unit_test(fields_are_in_order),
		cmocka_unit_test(broken_claim_fails_its_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
