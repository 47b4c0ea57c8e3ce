// SPDX-License-Identifier: GPL-2.0
#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "api.h"
#include "monitor.h"

struct emugpu_counters emugpu_counters;

static DEFINE_MUTEX(api_mutex);
static struct task_struct *callback_task;
static void (*callback_function)(void *data);	/* valid for @callback_task */

/* Under the API lock, as all below */
static unsigned int delay_ms, delay_count;

static struct injection {
	u32 nth;
	int error;
} injections[] = {
	[EMUGPU_CALL_GET_PAGES] = { 0 },
	[EMUGPU_CALL_DMA_MAP_PAGES] = { 0 },
};

void emugpu_api_lock(void)
{
	mutex_lock(&api_mutex);
}

void emugpu_api_unlock(void)
{
	mutex_unlock(&api_mutex);
}

void emugpu_api_assert_held(void)
{
	lockdep_assert_held(&api_mutex);
}

static void delay(void)
{
	if (!delay_ms)
		return;
	msleep(delay_ms);
	if (delay_count && !--delay_count)
		delay_ms = 0;
}

void emugpu_api_callback(void (*callback)(void *data), void *data)
{
	ktime_t start;

	lockdep_assert_held(&api_mutex);
	callback_function = callback;
	WRITE_ONCE(callback_task, current);
	delay();
	start = ktime_get();
	callback(data);
	emugpu_monitor_callback_time(callback, ktime_to_ns(ktime_sub(ktime_get(), start)));
	WRITE_ONCE(callback_task, NULL);
	atomic64_inc(&emugpu_counters.callbacks);
}

/* The thread that runs a callback. No lock needed: only this very thread can have stored its own address. */
static bool in_callback(void)
{
	return READ_ONCE(callback_task) == current;
}

int emugpu_refuse_in_callback(void)
{
	if (!in_callback())
		return 0;
	emugpu_violation(EMUGPU_RULE_CALL_IN_CALLBACK, callback_function);
	WARN(1, "%ps calls back into the GPU driver, which calls it\n", callback_function);
	return -EIO;
}

void emugpu_api_delay_callbacks(unsigned int ms, unsigned int count)
{
	emugpu_api_assert_held();
	delay_ms = ms;
	delay_count = count;
}

void emugpu_api_fail_nth(enum emugpu_test_call call, u32 nth, int error)
{
	emugpu_api_assert_held();
	injections[call].nth = nth;
	injections[call].error = error;
}

int emugpu_api_injected_error(enum emugpu_test_call call)
{
	struct injection *injection = &injections[call];

	emugpu_api_assert_held();
	if (!injection->nth || --injection->nth)
		return 0;
	return injection->error;
}
