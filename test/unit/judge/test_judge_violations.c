// SPDX-License-Identifier: MIT
#include <string.h>

#include "emu/judge/log/violations.h"
#include "test/unit/unit.h"

static const char line[] =
	"3 direct direct_pin+0x12/0x50 [direct] unaligned: address or length is no multiple: of the page size (12.2)";

static void a_line_has_five_parts(void **state)
{
	struct violation v;

	(void)state;
	assert_true(violation_parse(line, &v));
	assert_int_equal(v.count, 3);
	assert_string_equal(v.module, "direct");
	assert_string_equal(v.where, "direct_pin+0x12/0x50 [direct]");
	assert_string_equal(v.rule, "unaligned");
	assert_string_equal(v.text, "address or length is no multiple: of the page size (12.2)");
}

static void other_lines_are_rejected(void **state)
{
	struct violation v;

	(void)state;
	assert_false(violation_parse("count module where rule", &v));
	assert_false(violation_parse("count module where rule: text", &v));
	assert_false(violation_parse("3 direct", &v));
	assert_false(violation_parse("", &v));
}

static void old_violations_are_not_new(void **state)
{
	struct violations before = { .nr = 1 };
	struct violation v;

	(void)state;
	assert_true(violation_parse(line, &before.at[0]));
	v = before.at[0];
	assert_int_equal(violations_new(&before, &v), 0);
	v.count = 5;
	assert_int_equal(violations_new(&before, &v), 2);
	strcpy(v.module, "other");
	assert_int_equal(violations_new(&before, &v), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_five_parts),
		cmocka_unit_test(other_lines_are_rejected),
		cmocka_unit_test(old_violations_are_not_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
