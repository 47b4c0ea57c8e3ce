// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <peerpin.h>

#include "stop.h"
#include "subject.h"

enum {
	NAME_LEN = 64,
	AT_ONCE = 64,
	STOP_MS = 250,	/* on an emulated CPU, a short function may take many milliseconds */
	TICK_MS = 10,
};

/* A call of stop(): when it began, and @ticks at that time */
struct stop_call {
	ktime_t begin;
	int ticks;
};

/* Number of long calls, and their longest time. @stop_name: after the subject's unload an address could not be named */
static DEFINE_RAW_SPINLOCK(lock);
static unsigned int times;
static s64 longest_ms;
static char stop_name[NAME_LEN];

/* Probe of peerpin_peer_register(dev, ops, data) */
static int registering(struct kprobe *probe, struct pt_regs *regs)
{
	const struct peerpin_peer_ops *ops = (void *)regs->si;
	unsigned long flags;

	if (!ops || !judge_subject_has((unsigned long)ops->stop))
		return 0;
	raw_spin_lock_irqsave(&lock, flags);
	snprintf(stop_name, NAME_LEN, "%ps", ops->stop);
	stop_name[strcspn(stop_name, " ")] = '\0';	/* without the name of the module */
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}
NOKPROBE_SYMBOL(registering);

/*
 * Time that the VM ran. A busy host stops a VM's processors for many milliseconds, and the clocks of the kernel count
 * this time. The work item runs once after such a stop, whatever its length.
 */
static atomic_t running, ticks;

static void tick(struct work_struct *work)
{
	atomic_inc(&ticks);
	if (atomic_read(&running))
		queue_delayed_work(system_highpri_wq, to_delayed_work(work), msecs_to_jiffies(TICK_MS));
}

static DECLARE_DELAYED_WORK(ticker, tick);

static int began(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct stop_call *call = (struct stop_call *)instance->data;

	call->begin = ktime_get();
	call->ticks = atomic_read(&ticks);
	atomic_inc(&running);
	queue_delayed_work(system_highpri_wq, &ticker, msecs_to_jiffies(TICK_MS));
	return 0;
}
NOKPROBE_SYMBOL(began);

static s64 ms_since(const struct stop_call *call)
{
	s64 ran = (s64)(atomic_read(&ticks) - call->ticks + 1) * TICK_MS;

	return min(ktime_ms_delta(ktime_get(), call->begin), ran);
}

static int ended(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	s64 ms = ms_since((struct stop_call *)instance->data);
	unsigned long flags;

	atomic_dec(&running);
	if (ms < STOP_MS)
		return 0;
	raw_spin_lock_irqsave(&lock, flags);
	times++;
	longest_ms = max(longest_ms, ms);
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}
NOKPROBE_SYMBOL(ended);

static struct kprobe register_probe = {
	.symbol_name = "peerpin_peer_register",
	.pre_handler = registering,
};

/* peerpin.ko calls stop() in the first function for a revocation, in the second function for an unregistered peer. */
static struct kretprobe stop_probes[] = {
	{ .kp.symbol_name = "pp_attach_stop_all", .entry_handler = began, .handler = ended,
	  .data_size = sizeof(struct stop_call), .maxactive = AT_ONCE },
	{ .kp.symbol_name = "pp_attach_stop", .entry_handler = began, .handler = ended,
	  .data_size = sizeof(struct stop_call), .maxactive = AT_ONCE },
};

void judge_stop_show(struct seq_file *seq)
{
	char name[NAME_LEN];
	unsigned long flags;
	unsigned int n;
	s64 ms;

	raw_spin_lock_irqsave(&lock, flags);
	n = times;
	ms = longest_ms;
	strscpy(name, stop_name, NAME_LEN);
	raw_spin_unlock_irqrestore(&lock, flags);
	if (n && *name)
		seq_printf(seq, "%u %s %lld\n", n, name, ms);
}

void judge_stop_reset(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	times = 0;
	longest_ms = 0;
	stop_name[0] = '\0';
	raw_spin_unlock_irqrestore(&lock, flags);
}

static bool is_probed;

static int register_stops(void)
{
	size_t i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(stop_probes) && !err; i++)
		err = register_kretprobe(&stop_probes[i]);
	if (!err)
		return 0;
	while (--i)
		unregister_kretprobe(&stop_probes[i - 1]);
	return err;
}

/* -ENOENT: peerpin.ko is not loaded, so there are no peers. */
int judge_stop_init(void)
{
	int err = register_kprobe(&register_probe);

	if (err)
		return err == -ENOENT ? 0 : err;
	err = register_stops();
	if (err)
		unregister_kprobe(&register_probe);
	is_probed = !err;
	return err;
}

void judge_stop_exit(void)
{
	size_t i;

	if (!is_probed)
		return;
	for (i = 0; i < ARRAY_SIZE(stop_probes); i++)
		unregister_kretprobe(&stop_probes[i]);
	cancel_delayed_work_sync(&ticker);
	unregister_kprobe(&register_probe);
}
