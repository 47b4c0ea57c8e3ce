// SPDX-License-Identifier: MIT
/*
 * Loads the KUnit suites of the core, which run then, and reads their results. Without CONFIG_KUNIT the module runs the
 * suites itself: its load fails if a case fails.
 */
#include "test/vm/harness/module.h"
#include "test/vm/harness/vmtest.h"

static const char *const suites[] = {
	"peerpin_region", "peerpin_ref", "peerpin_table", "peerpin_cookie", "peerpin_epoch", "peerpin_extents",
};

static char results[1 << 16];

/* Prints all results of @suite, because the reason of a failure precedes its line "not ok". */
static void print_failures(const char *suite)
{
	bool failed = false;
	char *rest = results, *line;

	while ((line = strsep(&rest, "\n"))) {
		failed |= strstr(line, "not ok ") != NULL;
		if (*line)
			printf("# %s: %s\n", suite, line);
	}
	if (!failed)
		printf("# %s: no case has failed, but the suite has not passed\n", suite);
}

/* Number of lines of cases that begin with @result. Cases are indented by four columns. */
static unsigned int count(const char *result)
{
	const char *at = results;
	unsigned int n = 0;

	for (; (at = strstr(at, result)); at++)
		n++;
	return n;
}

static unsigned int planned(void)
{
	const char *plan = strstr(results, "\n    1..");
	unsigned int n = 0;

	if (plan)
		sscanf(plan, " 1..%u", &n);
	return n;
}

static bool suite_passed(const char *suite)
{
	unsigned int ok;
	char file[64];

	snprintf(file, sizeof(file), "kunit/%s/results", suite);
	module_debugfs(file, results, sizeof(results));
	ok = count("\n    ok ");
	printf("# %s: %u cases of %u passed\n", suite, ok, planned());
	if (ok && ok == planned() && !count("not ok ") && !count("# SKIP"))
		return true;
	print_failures(suite);
	return false;
}

static bool kernel_has_kunit(void)
{
	return !system("modprobe -q kunit");
}

CASE(suites_of_the_core_pass)
{
	bool kunit = kernel_has_kunit();
	unsigned int failed = 0;
	int ret = module_load("test/core_kunit.ko", "");

	EXPECT(!ret, "core_kunit: %s; the kernel log names the failed cases", strerror(-ret));
	for (unsigned int i = 0; kunit && i < sizeof(suites) / sizeof(*suites); i++)
		failed += !suite_passed(suites[i]);
	EXPECT(!module_remove("core_kunit"), "remove");
	EXPECT(!kunit || !module_remove("kunit"), "remove");
	EXPECT(!failed, "%u suites failed", failed);
}

VMTEST_MAIN
