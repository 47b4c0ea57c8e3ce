// SPDX-License-Identifier: GPL-2.0
#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "api.h"
#include "monitor.h"
#include "slab.h"
#include "vmtime.h"

enum {
	AWAITED_MS = 500,
	AWAITED_STEP_MS = 20,
};

struct emugpu_counters emugpu_counters;

static DEFINE_MUTEX(api_mutex);
static struct task_struct *callback_task;
static void (*callback_function)(void *data);	/* the function that @callback_task runs */
static const void *callback_table;		/* page table of the pin whose callback @callback_task runs */
static u64 callback_number, running_callback;
static struct task_struct *awaited_task;	/* callback @awaited_by waits for this thread; compared only */
static u64 awaited_by;

/* API lock for all variables from here on */
static unsigned int delay_ms, delay_count;

static struct injection {
	u32 nth;
	int error;
} injections[] = {
	[EMUGPU_CALL_GET_PAGES] = { 0 },
	[EMUGPU_CALL_DMA_MAP_PAGES] = { 0 },
	[EMUGPU_CALL_ATTACH] = { 0 },
	[EMUGPU_CALL_IMPORT] = { 0 },
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

/*
 * A callback that only compares what it reads from freed memory does no harm now. But once the memory is allocated again,
 * the callback may find another pin there, and end that pin.
 */
static void check_data(void (*callback)(void *data), const void *data)
{
	if (emugpu_slab_is_freed(data))
		emugpu_violation(EMUGPU_RULE_USE_AFTER_FREE, callback);
}

void emugpu_api_callback(void (*callback)(void *data), void *data, const void *table)
{
	s64 ns;

	lockdep_assert_held(&api_mutex);
	WRITE_ONCE(callback_function, callback);
	WRITE_ONCE(callback_table, table);
	WRITE_ONCE(callback_task, current);
	delay();
	check_data(callback, data);
	emugpu_vmtime_begin(emugpu_monitor_callback_period());
	WRITE_ONCE(running_callback, ++callback_number);
	callback(data);
	WRITE_ONCE(running_callback, 0);
	ns = emugpu_vmtime_end();
	/* A callback that waited for a thread delayed by the emulator is not reported as slow. */
	if (READ_ONCE(awaited_by) != callback_number)
		emugpu_monitor_callback_time(callback, ns);
	WRITE_ONCE(callback_task, NULL);
	atomic64_inc(&emugpu_counters.callbacks);
}

/* No lock needed: only the thread itself stores its address in callback_task. */
bool emugpu_api_in_callback(void)
{
	return READ_ONCE(callback_task) == current;
}

u64 emugpu_api_running_callback(void)
{
	return READ_ONCE(running_callback);
}

const void *emugpu_api_callback_function(void)
{
	return READ_ONCE(callback_function);
}

const void *emugpu_api_callback_table(void)
{
	return READ_ONCE(callback_table);
}

void emugpu_api_waits_for_caller(u64 callback)
{
	WRITE_ONCE(awaited_by, callback);
	WRITE_ONCE(awaited_task, current);
}

/*
 * No lock needed: only the thread itself stores its address in awaited_task. Callback numbers
 * are unique, so a callback that has ended cannot match.
 */
static bool is_awaited(void)
{
	u64 running = emugpu_api_running_callback();

	return READ_ONCE(awaited_task) == current && running && READ_ONCE(awaited_by) == running;
}

/* A callback that has stopped waiting may not have returned yet: wait up to AWAITED_MS for its return. */
static bool is_awaited_still(void)
{
	unsigned int ms;

	for (ms = 0; ms < AWAITED_MS && is_awaited(); ms += AWAITED_STEP_MS)
		msleep(AWAITED_STEP_MS);
	return is_awaited();
}

int emugpu_api_check_caller(void)
{
	if (emugpu_api_in_callback()) {
		emugpu_violation(EMUGPU_RULE_CALL_IN_CALLBACK, callback_function);
		WARN(1, "%ps calls the GPU driver from its free callback\n", callback_function);
		return -EIO;
	}
	if (is_awaited_still()) {
		emugpu_violation(EMUGPU_RULE_CALLBACK_WAITS, emugpu_api_callback_function());
		return -EIO;
	}
	return 0;
}

void emugpu_api_delay_callbacks(unsigned int ms, unsigned int count)
{
	emugpu_api_assert_held();
	delay_ms = ms;
	delay_count = count;
}

u32 emugpu_api_fail_nth(enum emugpu_test_call call, u32 nth, int error)
{
	u32 left = injections[call].nth;

	emugpu_api_assert_held();
	injections[call].nth = nth;
	injections[call].error = error;
	return left;
}

int emugpu_api_injected_error(enum emugpu_test_call call)
{
	struct injection *injection = &injections[call];

	emugpu_api_assert_held();
	if (!injection->nth || --injection->nth)
		return 0;
	return injection->error;
}
