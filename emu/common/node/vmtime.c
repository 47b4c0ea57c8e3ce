// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "api.h"
#include "compat.h"
#include "vmtime.h"

/* API lock; @ticks: also written by the timer */
static struct hrtimer timer;
static ktime_t begin, period;
static atomic_t ticks;

static enum hrtimer_restart tick(struct hrtimer *unused)
{
	atomic_inc(&ticks);
	hrtimer_forward_now(&timer, period);
	return HRTIMER_RESTART;
}

void emugpu_vmtime_begin(unsigned int period_us)
{
	emugpu_api_assert_held();
	period = ns_to_ktime((u64)period_us * NSEC_PER_USEC);
	atomic_set(&ticks, 0);
	hrtimer_setup(&timer, tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	begin = ktime_get();
	hrtimer_start(&timer, period, HRTIMER_MODE_REL);
}

/*
 * The clock minus the stops of the VM: after a stop the timer's function has run once, so there are fewer ticks than
 * periods. The added period is for the time since the last tick.
 */
s64 emugpu_vmtime_end(void)
{
	emugpu_api_assert_held();
	hrtimer_cancel(&timer);
	return min(ktime_to_ns(ktime_sub(ktime_get(), begin)), (atomic_read(&ticks) + 1) * ktime_to_ns(period));
}
