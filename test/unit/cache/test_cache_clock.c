// SPDX-License-Identifier: MIT
/* How often the registration cache reads the clock, and what it says of the time of pins. The clock is the test's. */
#include "cache_regions.h"

enum {
	TIMES = 1600,
	SHORT = 100,		/* ns */
	LONG = 1000000,
	SAMPLED = 16,		/* one in so many short pins is timed */
};

static uint64_t now, readings, pin_takes;

uint64_t __wrap_pp_now_ns(void);

uint64_t __wrap_pp_now_ns(void)
{
	readings++;
	return now;
}

static int pin_with_time(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	now += pin_takes;
	return pin(arg, addr, length, reg, why);
}

static void make_pins(uint64_t ns)
{
	static const struct pp_cache_ops these = { .pin = pin_with_time, .unpin = unpin };

	if (!cache)
		assert_int_equal(pp_cache_create(&these, NULL, NULL, &cache), 0);
	pin_takes = ns;
	readings = 0;
	touch_all(0, TIMES);
	pp_cache_invalidate(cache, NULL, SIZE_MAX);
}

static uint64_t in_histogram(const struct pp_cache_stats *s, unsigned int from, unsigned int to)
{
	uint64_t n = 0;

	for (; from <= to; from++)
		n += s->pin_histogram[from];
	return n;
}

static void few_short_pins_are_timed(void **state)
{
	struct pp_cache_stats s;

	(void)state;
	make_pins(SHORT);
	s = stats();
	assert_in_range(readings, 2, 2 * TIMES / SAMPLED + 2);
	assert_in_range(in_histogram(&s, 0, PP_CACHE_HISTOGRAM - 1), TIMES - SAMPLED, TIMES + SAMPLED);
	assert_int_equal(in_histogram(&s, 6, 6), in_histogram(&s, 0, PP_CACHE_HISTOGRAM - 1));
	assert_in_range(s.pin_ns, (TIMES - SAMPLED) * SHORT, (TIMES + SAMPLED) * SHORT);
}

static void every_long_pin_is_timed(void **state)
{
	struct pp_cache_stats s;

	(void)state;
	make_pins(LONG);
	s = stats();
	assert_int_equal(readings, 2 * TIMES);
	assert_int_equal(in_histogram(&s, 19, 19), TIMES);
	assert_int_equal(s.pin_ns, (uint64_t)TIMES * LONG);
}

static void change_of_pin_time_is_seen(void **state)
{
	struct pp_cache_stats s;

	(void)state;
	make_pins(SHORT);
	make_pins(LONG);
	s = stats();
	assert_in_range(readings, 2 * (TIMES - SAMPLED), 2 * TIMES);
	assert_in_range(in_histogram(&s, 19, 19), TIMES - SAMPLED, TIMES + SAMPLED);
	make_pins(SHORT);
	assert_in_range(readings, 2, 2 * TIMES / SAMPLED + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(few_short_pins_are_timed),
		TEST(every_long_pin_is_timed),
		TEST(change_of_pin_time_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
