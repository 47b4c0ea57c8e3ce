// SPDX-License-Identifier: MIT
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "emu/include/emugpu.h"
#include "emu/judge/log/report.h"
#include "leftover.h"
#include "verdict.h"

enum {
	STATUS_DATA_WRONG = 2,
	MODULE_LEN = 48,	/* the emulator truncates module names to this size */
};

/*
 * Whether the test may fail although the driver is correct. A driver may refuse the test
 * while another process has the device open or has inherited the test's files. Two actions cannot
 * disturb the test: SHARE_RMMOD, because the kernel refuses to remove a module in use, and SHARE_DUP,
 * because the test's files stay open.
 */
static bool is_disturbed(const struct scenario *s, const struct test *test, bool fired)
{
	/* the shim stopped the test and continued it */
	if (test->share->caller)
		return true;
	return s->bar1 || *s->version ||
	       (fired && s->user_action != SHARE_RMMOD && s->user_action != SHARE_DUP);
}

static bool kills(const struct scenario *s)
{
	return s->kernel_action == EMUGPU_ACT_KILL || s->user_action == SHARE_KILL;
}

/* Whether the action revokes GPU memory, and so may remove CPU mappings of this memory. */
static bool takes_mappings(const struct scenario *s)
{
	return s->kernel_action == EMUGPU_ACT_REVOKE || s->kernel_action == EMUGPU_ACT_REVOKE_LATER ||
	       s->user_action == SHARE_REVOKE || s->user_action == SHARE_DURING || s->user_action == SHARE_UNBIND;
}

static bool is_ours(const struct scenario *s, int signal)
{
	return (signal == SIGKILL && kills(s)) || (signal == SIGBUS && takes_mappings(s));
}

static void tell(const struct test *test)
{
	if (test->end == TEST_TIMEOUT)
		report_line("test", "timeout");
	else
		report_line("test", "%s %d", test->end == TEST_EXIT ? "exit" : "signal", test->value);
}

/* Returns a sentence about the output of the test, which may be empty. */
static const char *output_text(void)
{
	static char text[400];
	const char *output = tests_output();

	if (!*output)
		return "the test printed nothing";
	snprintf(text, sizeof(text), "the test's last line: %.300s", output);
	return text;
}

static void judge(const struct scenario *s, const struct test *test, bool fired)
{
	if (test->end == TEST_TIMEOUT)
		report_finding("hang", "the test has not ended%s%s", *test->where ? ": it is in " : "", test->where);
	else if (test->end == TEST_SIGNAL && !(fired && is_ours(s, test->value)))
		report_finding("crashed", "the test was ended by signal %d (%s)", test->value, strsignal(test->value));
	else if (test->end == TEST_EXIT && test->value == STATUS_DATA_WRONG)
		report_finding("data-wrong", "exit status 2; %s", output_text());
}

static bool succeeded(const struct tests *tests)
{
	size_t i;

	for (i = 0; i < tests->nr; i++)
		if (tests->at[i].end == TEST_EXIT && !tests->at[i].value)
			return true;
	return false;
}

static const char *excuse_text(const struct scenario *s, bool fired)
{
	if (fired && s->user_action == SHARE_DUP)
		return "although only a duplicate of the device's file was closed";
	if (fired)
		return "although the module could not be removed";
	if (s->kernel_nth || s->user_nth || s->fail || s->alloc)
		return "and the fault of this scenario did not happen";
	return "and this scenario has no fault";
}

static void report_failure(const struct scenario *s, int status, bool fired)
{
	report_finding("test-failed", "exit status %d, %s; %s", status, excuse_text(s, fired), output_text());
}

/* One of several concurrent tests must succeed; a driver may refuse the others. */
void verdict_tests(const struct scenario *s, const struct tests *tests, bool fired)
{
	size_t i;

	for (i = 0; i < tests->nr; i++) {
		tell(&tests->at[i]);
		judge(s, &tests->at[i], fired);
	}
	if (tests->child_stuck)
		report_finding("hang", "a child of the test cannot be killed%s%s",
			       *tests->child_where ? ": it is in " : "", tests->child_where);
	if (tests->at[0].end == TEST_EXIT && !succeeded(tests) && !is_disturbed(s, &tests->at[0], fired) &&
	    tests->at[0].value != STATUS_DATA_WRONG)
		report_failure(s, tests->at[0].value, fired);
}

/*
 * If a function of the driver ends with a tail call of the GPU driver, the return address is in the caller of that function,
 * and the violation is recorded under the caller's name. The caller is the kernel or, for a client of InfiniBand peer
 * memory, the emulated InfiniBand core.
 */
static bool is_of_caller(const struct violation *v)
{
	return !strcmp(v->module, "kernel") || !strcmp(v->module, "ib_peer_shim");
}

/*
 * If the driver pins through peerpin, the emulator records the driver's violations under peerpin's name. The VM has no other
 * driver that calls the GPU driver.
 */
static bool is_concerned(const struct violation *v, const struct driver *driver)
{
	return !strncmp(v->module, driver->name, MODULE_LEN - 1) || !strcmp(v->module, "peerpin") ||
	       !strcmp(v->module, "peerpin_nv") || is_of_caller(v);
}

/* The kernel prints "FUNCTION+0xOFFSET/0xSIZE", and for a function of a module also "[MODULE]". */
static bool is_in_caller(const char *where)
{
	return strstr(where, "+0x") && (!strchr(where, '[') || strstr(where, "[ib_peer_shim]"));
}

/* After a tail call the emulator does not know the driver's function, but it knows the caller of that function. */
static void tell_violation(const struct violation *v, const struct driver *driver, uint64_t nr)
{
	const char *module = is_of_caller(v) ? driver->name : v->module;

	report_finding(v->rule, "%s, %s%s: %s (%llu times)", module, is_in_caller(v->where) ? "a function called by " : "",
		       v->where, v->text, (unsigned long long)nr);
}

/* The free callback that called a long stop() is peerpin's, but the error is in the peer's driver. */
static bool is_explained(const struct violation *v, bool stop_waits)
{
	return stop_waits && !strcmp(v->rule, "slow-callback") && !strncmp(v->module, "peerpin", strlen("peerpin"));
}

void verdict_compare(const struct violations *before, const struct violations *now, const struct driver *driver,
		     bool stop_waits)
{
	const struct violation *v;
	uint64_t nr;

	for (v = now->at; v < now->at + now->nr; v++) {
		nr = violations_new(before, v);
		if (nr && is_concerned(v, driver) && !is_explained(v, stop_waits))
			tell_violation(v, driver, nr);
	}
}

int verdict_violations(const struct violations *before, const struct driver *driver)
{
	static struct violations now;
	int ret = violations_read(&now);

	verdict_compare(before, &now, driver, leftover_stop_waits(driver->name));
	return ret;
}
