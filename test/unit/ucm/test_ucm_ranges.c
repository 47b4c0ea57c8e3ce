// SPDX-License-Identifier: MIT
/* The ranges of libpeerpin-ucm. The functions pp_*() below are a library without a kernel. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "lib/sys/sys.h"
#include "lib/ucm/ranges.h"
#include "test/unit/unit.h"

static bool alive = true;
static unsigned int sleep_us, burn_us;	/* in a look */
static unsigned int watches;

int pp_open(struct pp_ctx **out)
{
	*out = NULL;
	return 0;
}

void pp_close(struct pp_ctx *ctx)
{
	(void)ctx;
}

int pp_fd(const struct pp_ctx *ctx)
{
	(void)ctx;
	return -1;
}

int pp_sys_ioctl(int fd, unsigned long cmd, void *arg)
{
	(void)fd, (void)cmd, (void)arg;
	return 0;
}

int pp_watch(struct pp_ctx *ctx, const void *addr, size_t length, struct pp_watched *out, struct pp_why *why)
{
	(void)ctx, (void)why;
	*out = (struct pp_watched){ .addr = (uintptr_t)addr, .length = length };
	watches++;
	return 0;
}

int pp_unwatch(struct pp_ctx *ctx, const struct pp_watched *watched)
{
	(void)ctx, (void)watched;
	watches--;
	return 0;
}

static void burn(unsigned int us)
{
	clock_t end = clock() + (clock_t)us;	/* of processor time; CLOCKS_PER_SEC is a million */

	while (clock() < end)
		;
}

int pp_watch_valid(const struct pp_ctx *ctx, const struct pp_watched *watched)
{
	(void)ctx, (void)watched;
	usleep(sleep_us);
	burn(burn_us);
	return alive;
}

/* ---- cases ----------------------------------------------------------------------------------- */

#define MR ((const struct ibv_mr *)0x1000)

static int setup(void **state)
{
	struct pp_watched watched;

	(void)state;
	return pp_ranges_init() ?: pp_ranges_watch((void *)0x600000000000, 4096, &watched, NULL) ?:
	       pp_ranges_keep(MR, &watched);
}

static void valid_range_is_not_reported(void **state)
{
	struct pp_range out[PP_RANGES_BATCH];

	(void)state;
	assert_int_equal(pp_ranges_changed(out), 0);
}

/* Without the library's bounds of the time of a look, the period after each look below is at least 8 seconds. */
static void look_then_wait(void)
{
	struct pp_range out[PP_RANGES_BATCH];
	uint64_t start;

	assert_int_equal(pp_ranges_changed(out), 0);
	sleep_us = burn_us = 0;
	start = pp_now_ns();
	assert_true(pp_ranges_wait());
	assert_in_range(pp_now_ns() - start, 0, 5000000000);
}

/* Another thread has the processor: each look takes long, but not on the processor. */
static void period_is_short_beside_other_threads(void **state)
{
	struct pp_range out[PP_RANGES_BATCH];

	(void)state;
	sleep_us = 40000;
	for (int i = 0; i < 16; i++)
		assert_int_equal(pp_ranges_changed(out), 0);
	sleep_us = 200000;
	look_then_wait();
}

/* The VM does not run during one look, and its clock counts that as processor time. */
static void period_is_short_after_one_long_look(void **state)
{
	(void)state;
	burn_us = 200000;
	look_then_wait();
}

static void changed_range_is_reported_once(void **state)
{
	struct pp_range out[PP_RANGES_BATCH];
	struct pp_watched watched;

	(void)state;
	alive = false;
	assert_int_equal(pp_ranges_changed(out), 1);
	assert_true(out[0].start == 0x600000000000 && out[0].end == 0x600000001000);
	assert_int_equal(watches, 0);
	assert_int_equal(pp_ranges_changed(out), 0);
	assert_false(pp_ranges_take(MR, &watched));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_range_is_not_reported),
		cmocka_unit_test(period_is_short_beside_other_threads),
		cmocka_unit_test(period_is_short_after_one_long_look),
		cmocka_unit_test(changed_range_is_reported_once),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
