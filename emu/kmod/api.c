// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>

#include "api.h"

struct emugpu_counters emugpu_counters;

static DEFINE_MUTEX(api_mutex);
static struct task_struct *callback_task;
static unsigned int callback_delay_ms;

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

void emugpu_api_callback(void (*callback)(void *data), void *data)
{
	unsigned int ms = READ_ONCE(callback_delay_ms);

	lockdep_assert_held(&api_mutex);
	WRITE_ONCE(callback_task, current);
	if (ms)
		msleep(ms);
	callback(data);
	WRITE_ONCE(callback_task, NULL);
	atomic64_inc(&emugpu_counters.callbacks);
}

/* No lock needed: only this very thread can have stored its own address. */
bool emugpu_api_in_callback(void)
{
	return READ_ONCE(callback_task) == current;
}

void emugpu_api_delay_callbacks(unsigned int ms)
{
	WRITE_ONCE(callback_delay_ms, ms);
}

void emugpu_violation(const void *caller, const char *what)
{
	atomic64_inc(&emugpu_counters.violations);
	pr_warn("violation by %pS: %s\n", caller, what);
}
