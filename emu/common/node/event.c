// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "api.h"
#include "block.h"
#include "event.h"
#include "monitor.h"
#include "pin.h"

enum {
	EVENTS_MAX = 256,
	TICK_MS = 20,
	TICKS_STUCK = 1500 / TICK_MS,	/* longer than peerpin's default drain_timeout_ms */
	TICKS_MAX = 4000 / TICK_MS,
	BESIDE_MS = 100,
	LATER_MS = 50,
};

/* Protects the record of events and the planned action */
static DEFINE_SPINLOCK(record_lock);
static struct emugpu_event events[EVENTS_MAX];
static u32 nr_events;
static u32 planned_nth;
static enum emugpu_event_action planned_action;

/* @asked: number of requested revocations; @done: value of @asked when the last finished revocation started */
static atomic_t asked;
static int done;
static DECLARE_WAIT_QUEUE_HEAD(revoked);

/* Runs in a kernel worker, because usually the thread that frees memory is not the thread that pinned the memory. */
static void revoke_work(struct work_struct *work)
{
	int nr = atomic_read(&asked);

	emugpu_block_revoke_all(NULL, false);
	WRITE_ONCE(done, nr);
	wake_up_all(&revoked);
}

static bool is_done(int nr)
{
	return READ_ONCE(done) - nr >= 0;
}

static DECLARE_WORK(revocation, revoke_work);

static void revoke_late(struct work_struct *work)
{
	emugpu_block_revoke_all(NULL, false);
}

static DECLARE_DELAYED_WORK(late_revocation, revoke_late);

/*
 * Waits for revocation @nr. Returns the number of a callback that does not end, because the callback
 * waits for the calling thread; else 0. Counts wake-ups of this thread instead of time: by the clock, a
 * VM without CPU time looks like a stuck callback.
 */
static u64 stuck_callback(int nr)
{
	unsigned int tick, same = 0;
	u64 now, last = 0;

	for (tick = 0; tick < TICKS_MAX && same < TICKS_STUCK; tick++) {
		if (wait_event_timeout(revoked, is_done(nr), msecs_to_jiffies(TICK_MS)))
			return 0;
		now = emugpu_api_running_callback();
		same = now && now == last ? same + 1 : 0;
		last = now;
	}
	return same == TICKS_STUCK ? last : 0;
}

/*
 * Whether the call could deadlock with the stuck callback in NVIDIA's driver: pin and map calls
 * take the API lock, which the callback's thread may hold. Exception: the callback of the pin
 * that this call has just made.
 */
static bool could_deadlock(enum emugpu_event_kind kind, const struct nvidia_p2p_page_table *table)
{
	if (kind == EMUGPU_EVENT_PIN)
		return emugpu_api_callback_table() != table;
	return kind == EMUGPU_EVENT_PIN_PERSISTENT || kind == EMUGPU_EVENT_MAP;
}

/*
 * After finding a deadlock the thread goes on, unlike in NVIDIA's driver: the test must report the
 * deadlock instead of hanging. A thread that is about to put or unmap has not deadlocked yet. If
 * that thread needs the API lock, emugpu_api_check_caller() reports the deadlock.
 */
static void revoke_all(enum emugpu_event_kind kind, const struct nvidia_p2p_page_table *table)
{
	int nr = atomic_inc_return(&asked);
	u64 stuck;

	queue_work(system_long_wq, &revocation);
	stuck = stuck_callback(nr);
	if (!stuck) {
		emugpu_pin_watch_table(table);	/* the caller may read this table next */
		return;
	}
	emugpu_api_waits_for_caller(stuck);
	if (could_deadlock(kind, table))
		emugpu_violation(EMUGPU_RULE_CALLBACK_WAITS, emugpu_api_callback_function());
}

static void kill_current(void)
{
	if (!(current->flags & PF_KTHREAD))
		send_sig(SIGKILL, current, 1);
}

static void event_fill(struct emugpu_event *event, enum emugpu_event_kind kind,
		       const struct nvidia_p2p_page_table *table, const void *caller)
{
	const struct emugpu_pin *pin;

	mutex_lock(&emugpu_map_lock);
	pin = table ? emugpu_pin_find(table) : NULL;
	if (pin)
		strscpy(event->module, pin->consumer, sizeof(event->module));
	else
		emugpu_monitor_module(caller, event->module);
	mutex_unlock(&emugpu_map_lock);
	event->kind = kind;
	event->pid = task_tgid_nr(current);
}

/* Records @event; returns the action planned for this event. */
static enum emugpu_event_action record(const struct emugpu_event *event)
{
	enum emugpu_event_action action;

	spin_lock(&record_lock);
	if (nr_events < EVENTS_MAX)
		events[nr_events] = *event;
	action = ++nr_events == planned_nth ? planned_action : EMUGPU_ACT_NONE;
	spin_unlock(&record_lock);
	return action;
}

void emugpu_event_happens(enum emugpu_event_kind kind, const struct nvidia_p2p_page_table *table, const void *caller)
{
	struct emugpu_event event = {};
	enum emugpu_event_action action;

	if (emugpu_api_in_callback())
		return;
	event_fill(&event, kind, table, caller);
	action = record(&event);
	if (action == EMUGPU_ACT_REVOKE)
		revoke_all(kind, table);
	else if (action == EMUGPU_ACT_KILL)
		kill_current();
	else if (action == EMUGPU_ACT_REVOKE_LATER)
		queue_delayed_work(system_long_wq, &late_revocation, msecs_to_jiffies(LATER_MS));
}

/* The revocation may wait for the reservation lock, which the calling thread holds in some calls. */
static void revoke_beside(void)
{
	int nr = atomic_inc_return(&asked);

	queue_work(system_long_wq, &revocation);
	wait_event_timeout(revoked, is_done(nr), msecs_to_jiffies(BESIDE_MS));
}

void emugpu_event_import(enum emugpu_event_kind kind, const char *module)
{
	struct emugpu_event event = { .kind = kind, .pid = task_tgid_nr(current) };
	enum emugpu_event_action action;

	strscpy(event.module, module, sizeof(event.module));
	action = record(&event);
	if (action == EMUGPU_ACT_REVOKE)
		revoke_beside();
	else if (action == EMUGPU_ACT_KILL)
		kill_current();
}

void emugpu_event_plan(u32 nth, enum emugpu_event_action action)
{
	cancel_delayed_work_sync(&late_revocation);
	spin_lock(&record_lock);
	nr_events = 0;
	planned_nth = nth;
	planned_action = action;
	spin_unlock(&record_lock);
}

static u32 snapshot(struct emugpu_event *copy)
{
	u32 n;

	spin_lock(&record_lock);
	n = nr_events;
	memcpy(copy, events, sizeof(events));
	spin_unlock(&record_lock);
	return n;
}

int emugpu_event_read(struct emugpu_event __user *buf, u32 max, u32 *count)
{
	struct emugpu_event *copy = kvmalloc(sizeof(events), GFP_KERNEL);
	int err;

	if (!copy)
		return -ENOMEM;
	*count = snapshot(copy);
	max = min3(max, *count, (u32)EVENTS_MAX);
	err = copy_to_user(buf, copy, max * sizeof(*copy)) ? -EFAULT : 0;
	kvfree(copy);
	return err;
}

/* All consumers are unloaded, so no new revocation starts. */
void emugpu_event_exit(void)
{
	cancel_work_sync(&revocation);
	cancel_delayed_work_sync(&late_revocation);
}
