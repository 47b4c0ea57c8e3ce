// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "emu/judge/guest/plan.h"
#include "emu/judge/share.h"
#include "emugpu.h"
#include "test/unit/unit.h"

static struct scenario s;
static char why[PLAN_WHY_MAX];

static void parses(const char *line)
{
	assert_int_equal(plan_parse(line, &s, why), 0);
}

static void refused(const char *line, const char *because)
{
	assert_int_equal(plan_parse(line, &s, why), -1);
	assert_non_null(strstr(why, because));
}

static void id_alone_is_plain_scenario(void **state)
{
	(void)state;
	parses("iommu/plain-1");
	assert_string_equal(s.id, "iommu/plain-1");
	assert_int_equal(s.scatter, -1);
	assert_int_equal(s.copies, 1);
	assert_int_equal(s.guard_ms, 0);
	assert_string_equal(s.version, "");
	assert_false(s.record || s.kernel_nth || s.user_nth || s.alloc || s.fail || s.nr_env || s.bar1 || s.delay_ms);
}

static void all_keys_are_parsed(void **state)
{
	(void)state;
	parses("x record=1 scatter=0 bar1=65536 version=0x10001 delay=30 alloc=7 copies=2 guard=3 "
	       "env=A=b=c env=D= fail=dma_map:4");
	assert_true(s.record);
	assert_int_equal(s.scatter, 0);
	assert_int_equal(s.bar1, 65536);
	assert_string_equal(s.version, "0x10001");
	assert_int_equal(s.delay_ms, 30);
	assert_int_equal(s.alloc, 7);
	assert_int_equal(s.copies, 2);
	assert_int_equal(s.guard_ms, 3);
	assert_int_equal(s.nr_env, 2);
	assert_string_equal(s.env[0], "A=b=c");
	assert_string_equal(s.env[1], "D=");
	assert_int_equal(s.fail, PLAN_FAIL_DMA_MAP);
	assert_int_equal(s.fail_nth, 4);
}

static void key_without_value_is_one(void **state)
{
	(void)state;
	parses("x\trecord  scatter");
	assert_true(s.record);
	assert_int_equal(s.scatter, 1);
}

static void kernel_and_user_events_are_parsed(void **state)
{
	(void)state;
	parses("x kernel-event=3:kill user-event=12:late-close");
	assert_int_equal(s.kernel_nth, 3);
	assert_int_equal(s.kernel_action, EMUGPU_ACT_KILL);
	assert_int_equal(s.user_nth, 12);
	assert_int_equal(s.user_action, SHARE_LATE_CLOSE);
	parses("x user-event=2:during:300");
	assert_int_equal(s.user_action, SHARE_DURING);
	assert_int_equal(s.user_usec, 300);
}

static void revocation_guards_pages_by_default(void **state)
{
	(void)state;
	parses("x kernel-event=1:revoke");
	assert_int_equal(s.guard_ms, PLAN_GUARD_MS);
	parses("x user-event=1:during:0");
	assert_int_equal(s.guard_ms, PLAN_GUARD_MS);
	parses("x user-event=1:revoke guard=0");
	assert_int_equal(s.guard_ms, 0);
	parses("x user-event=1:kill");
	assert_int_equal(s.guard_ms, PLAN_GUARD_MS);
	parses("x user-event=1:fork");
	assert_int_equal(s.guard_ms, 0);
}

static void blank_lines_and_comments_are_skipped(void **state)
{
	(void)state;
	assert_int_equal(plan_parse("", &s, why), 1);
	assert_int_equal(plan_parse("  ", &s, why), 1);
	assert_int_equal(plan_parse("# x", &s, why), 1);
}

static void wrong_lines_are_refused(void **state)
{
	static const char *const lines[] = {
		"x record=2", "x scatter=2", "x scatter=", "x bar1=-1", "x bar1=1k", "x version=", "x kernel-event=1",
		"x kernel-event=0:revoke", "x kernel-event=1:fork", "x user-event=:kill", "x user-event=1:during",
		"x user-event=1:during:x", "x fail=get_pages", "x fail=put_pages:1", "x fail=get_pages:0",
		"x copies=0", "x copies=9", "x env=A", "x env==b", "x alloc=99999999999",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		refused(lines[i], "x: bad value of ");
	refused("x nonsense=1", "unknown key 'nonsense'");
}

static void too_long_lines_are_refused(void **state)
{
	char line[PLAN_LINE_MAX + 1];

	(void)state;
	memset(line, 'x', sizeof(line));
	line[PLAN_ID_MAX] = '\0';
	refused(line, "ID longer");
	memset(line, 'x', sizeof(line));
	line[PLAN_LINE_MAX] = '\0';
	refused(line, "line longer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(id_alone_is_plain_scenario),
		cmocka_unit_test(all_keys_are_parsed),
		cmocka_unit_test(key_without_value_is_one),
		cmocka_unit_test(kernel_and_user_events_are_parsed),
		cmocka_unit_test(revocation_guards_pages_by_default),
		cmocka_unit_test(blank_lines_and_comments_are_skipped),
		cmocka_unit_test(wrong_lines_are_refused),
		cmocka_unit_test(too_long_lines_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
