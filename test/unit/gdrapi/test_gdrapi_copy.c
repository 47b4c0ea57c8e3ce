// SPDX-License-Identifier: MIT
/* The copy functions of libgdrapi on the CPU of this host; test/vm/gdrapi/t_gdrapi_copies.c has other CPUs. */
#include "test/unit/unit.h"

#define COPIES_WRONG fail_msg
#define COPIES_SIZES 200
#include "copies.h"

static void every_alignment_and_size_is_copied(void **state)
{
	(void)state;
	every_way(in_the_middle, NULL);
}

static void copies_touch_nothing_outside_their_pages(void **state)
{
	(void)state;
	every_way(at_both_ends, NULL);
}

static void long_copies_are_exact(void **state)
{
	(void)state;
	every_way(big, NULL);
}

static void best_stream_is_first_usable(void **state)
{
	const struct stream *best = gdr_stream_best(), *s;

	(void)state;
	assert_true(best->usable());
	for (s = gdr_streams; s != best; s++)
		assert_false(s->usable());
	assert_ptr_equal(gdr_stream_best(), best);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_alignment_and_size_is_copied),
		cmocka_unit_test(copies_touch_nothing_outside_their_pages),
		cmocka_unit_test(long_copies_are_exact),
		cmocka_unit_test(best_stream_is_first_usable),
	};

	assert_true(copies_start());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
