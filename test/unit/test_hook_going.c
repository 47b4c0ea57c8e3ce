// SPDX-License-Identifier: MIT
/* What is being freed at the moment: more than there are places for, and forks meanwhile. */
#include "hook/going.h"
#include "libpeerpin-hook.h"
#include "unit.h"

enum { MANY = 100 };

static int at[MANY];

static void begin_all(void)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		at[i] = pp_going_begin((i + 1) << 20, 1 << 20);
}

static void end_all(void)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		pp_going_end(at[i]);
}

/* Those without a place may be anything. */
static void more_than_there_are_places_for(void **state)
{
	(void)state;
	assert_false(pp_hook_is_going(1 << 20, 1));
	begin_all();
	assert_true(pp_hook_is_going(1 << 20, 1));
	assert_true(pp_hook_is_going(1ull << 40, 1));
	end_all();
	assert_false(pp_hook_is_going(1 << 20, 1));
	assert_false(pp_hook_is_going(1ull << 40, 1));
}

/* The thread that forked inside of a free goes on with it in the child. */
static void a_child_ends_what_it_has_forgotten(void **state)
{
	(void)state;
	begin_all();
	pp_going_forget();
	assert_false(pp_hook_is_going(1 << 20, 1));
	end_all();
	assert_false(pp_hook_is_going(1 << 20, 1));
	assert_false(pp_hook_is_going(1ull << 40, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_there_are_places_for),
		cmocka_unit_test(a_child_ends_what_it_has_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
