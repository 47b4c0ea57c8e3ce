// SPDX-License-Identifier: MIT
/* What the guest says about a test program that failed. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "test/unit/unit.h"
#include "emu/include/emugpu.h"
#include "emu/judge/guest/verdict.h"
#include "emu/judge/log/report.h"

static char said[4096];

/* Stores in @said what the guest reports if a test exits with @status in @scenario. */
static void judge(const struct scenario *scenario, int status, bool fired)
{
	static struct share share;
	struct tests tests = { .nr = 1, .at[0] = { .share = &share, .ended = true, .end = TEST_EXIT, .value = status } };
	FILE *file = tmpfile();
	int out = dup(STDOUT_FILENO);

	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	report_begin("plain");
	verdict_tests(scenario, &tests, fired);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
	fclose(file);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent_test_is_called_silent),
		cmocka_unit_test(missing_fault_is_called_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
