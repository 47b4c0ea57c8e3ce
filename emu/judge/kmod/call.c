// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <peerpin.h>

#include "allocator.h"
#include "call.h"
#include "object.h"
#include "skip.h"
#include "subject.h"

enum {
	AT_ONCE = 128,		/* concurrent calls of one allocator */
};

static struct kretprobe allocator_probes[ALLOCATORS];
static struct kprobe entry_probes[ALLOCATORS];
static atomic_t allocations, failures;
static atomic_t until_failure;		/* allocations until one fails; 0: none fails */
static struct workqueue_struct *undoing;

/*
 * Calls that the probes missed
 * @allocations: calls made while another probe ran on the same CPU
 * @too_many: calls beyond AT_ONCE
 */
struct unseen {
	unsigned long allocations;
	unsigned long too_many;
};

/*
 * Only an interrupt can call an allocator while a probe runs. Such a missed call counts
 * only if the subject allocates in interrupts. entered() sets this flag if the subject does.
 */
static bool in_interrupts;

/* before: missed calls at the last reset; own_allocations: calls by undo() since that reset */
static struct unseen before;
static atomic_long_t own_allocations;

static unsigned long argument(const struct pt_regs *regs, unsigned int n)
{
	const unsigned long arguments[ARGUMENTS] = { regs->di, regs->si, regs->dx, regs->cx, regs->r8, regs->r9 };

	return arguments[n];
}

/* ---- allocating ----------------------------------------------------------------------- */

static const struct allocator *allocator_of(struct kretprobe_instance *instance)
{
	return &judge_allocators[get_kretprobe(instance) - allocator_probes];
}

/* At the first instruction of a function its return address is on top of the stack. */
static int entered(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct call *call = (struct call *)instance->data;
	unsigned long caller = *(unsigned long *)regs->sp;
	unsigned int i;

	if (!judge_subject_has(caller))
		return 1;
	if (in_hardirq() || in_serving_softirq())
		WRITE_ONCE(in_interrupts, true);
	call->allocator = allocator_of(instance);
	call->caller = caller;
	for (i = 0; i < ARGUMENTS; i++)
		call->arguments[i] = argument(regs, i);
	judge_allocator_keep(call);
	return 0;
}
NOKPROBE_SYMBOL(entered);

static void undo_later(struct work_struct *work)
{
	struct call *call = container_of(work, struct call, undoing);

	call->allocator->undo(call);
	kfree(call);
}

/* A probe must not sleep, so an undo that sleeps runs in a work item. Returns false if out of memory. */
static bool undo(const struct call *call)
{
	struct call *copy;

	if (!call->allocator->undo)
		return true;
	if (!call->allocator->sleeps) {
		call->allocator->undo(call);
		return true;
	}
	/* reclaimable, as EMUGPU_GFP: not the memory that the driver has just freed */
	copy = kmemdup(call, sizeof(*call), GFP_ATOMIC | __GFP_RECLAIMABLE | __GFP_NOWARN);
	if (!copy)
		return false;
	if (call->allocator->of_device)
		get_device((struct device *)call->arguments[0]);
	INIT_WORK(&copy->undoing, undo_later);
	queue_work(undoing, &copy->undoing);
	return true;
}

static struct unseen all_unseen(void)
{
	struct unseen unseen = {};
	unsigned int i;

	for (i = 0; i < ALLOCATORS; i++) {
		unseen.allocations += allocator_probes[i].kp.nmissed;
		unseen.too_many += allocator_probes[i].nmissed;
	}
	return unseen;
}

/* The probes miss the allocations by undo(), which runs in a probe. unseen_since() subtracts the count made here. */
static bool undo_unseen(const struct call *call)
{
	unsigned long first = all_unseen().allocations;
	bool undone = undo(call);

	atomic_long_add(all_unseen().allocations - first, &own_allocations);
	return undone;
}

static bool is_due(void)
{
	return atomic_dec_if_positive(&until_failure) == 0;
}

/*
 * Fails an allocator at entry, as returned() does at return. This probe runs before the kretprobe, so the
 * caller's address is still on the stack.
 */
static int entering(struct kprobe *probe, struct pt_regs *regs)
{
	const struct allocator *a = &judge_allocators[probe - entry_probes];

	if (!judge_subject_has(*(unsigned long *)regs->sp) || !is_due())
		return 0;
	atomic_inc(&allocations);
	atomic_inc(&failures);
	if (a->fails)
		a->fails(regs);
	return judge_skip(regs, a->failure);
}
NOKPROBE_SYMBOL(entering);

static int returned(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct call *call = (struct call *)instance->data;
	const struct allocator *a = call->allocator;

	call->result = regs_return_value(regs);
	if (!judge_allocator_must(call))
		atomic_inc(&allocations);
	if (judge_allocator_failed(a, call->result))
		return 0;
	if (a->made)
		a->made((void *)call->result);
	if (a->of_device)
		call->handle = *(dma_addr_t *)call->arguments[2];
	if (!a->at_entry && !judge_allocator_must(call) && is_due() && undo_unseen(call)) {
		atomic_inc(&failures);
		judge_allocator_restore(call);
		regs_set_return_value(regs, a->failure);
	} else if (a->watched && !ZERO_OR_NULL_PTR((void *)call->result)) {
		judge_allocator_mark(call);
		judge_object_add((void *)call->result, judge_allocator_size(call), call->caller);
	}
	return 0;
}
NOKPROBE_SYMBOL(returned);

/* ---- beginning and end ------------------------------------------------------------------ */

/* -ENOENT: this kernel has no such function, or the function's module is not loaded. */
static int take_error(int err, const char **name, const char *symbol, bool needed)
{
	if (!err)
		return 0;
	*name = NULL;
	if (err == -ENOENT)
		pr_info("no function %s in this kernel; its allocations are not watched\n", symbol);
	return err == -ENOENT && !needed ? 0 : err;
}

static int probe_allocator(unsigned int i)
{
	struct kretprobe *probe = &allocator_probes[i];
	const char *const *symbol = judge_allocators[i].symbols;
	int err = -ENOENT;

	for (; err == -ENOENT && symbol < judge_allocators[i].symbols + SYMBOLS_MAX && *symbol; symbol++) {
		*probe = (struct kretprobe){
			.kp.symbol_name = *symbol,
			.entry_handler = entered,
			.handler = returned,
			.data_size = sizeof(struct call),
			.maxactive = AT_ONCE,
		};
		err = register_kretprobe(probe);
	}
	return take_error(err, &probe->kp.symbol_name, judge_allocators[i].symbols[0], judge_allocators[i].needed);
}

/* Register after the kretprobe: of several probes at an address, the last registered runs first. */
static int probe_entry(unsigned int i)
{
	struct kprobe *probe = &entry_probes[i];
	int err;

	if (!judge_allocators[i].at_entry || !allocator_probes[i].kp.symbol_name)
		return 0;
	*probe = (struct kprobe){
		.symbol_name = judge_allocators[i].symbols[0],
		.pre_handler = entering,
		.post_handler = JUDGE_SKIP_POST,
	};
	err = register_kprobe(probe);
	if (err)
		probe->symbol_name = NULL;
	return err;
}

void judge_calls_exit(void)
{
	unsigned int i;

	for (i = 0; i < ALLOCATORS; i++) {
		if (entry_probes[i].symbol_name)
			unregister_kprobe(&entry_probes[i]);
		if (allocator_probes[i].kp.symbol_name)
			unregister_kretprobe(&allocator_probes[i]);
	}
	destroy_workqueue(undoing);
}

int judge_calls_init(void)
{
	unsigned int i;
	int err = 0;

	undoing = alloc_workqueue(KBUILD_MODNAME, WQ_UNBOUND, 0);
	if (!undoing)
		return -ENOMEM;
	for (i = 0; !err && i < ALLOCATORS; i++)
		err = probe_allocator(i) ?: probe_entry(i);
	if (err) {
		pr_err("cannot set a probe in an allocator: %d\n", err);
		judge_calls_exit();
	}
	return err;
}

void judge_calls_fail(unsigned int nth)
{
	atomic_set(&until_failure, 0);
	atomic_set(&allocations, 0);
	atomic_set(&failures, 0);
	atomic_set(&until_failure, nth);
}

void judge_calls_reset(void)
{
	atomic_long_set(&own_allocations, 0);
	WRITE_ONCE(in_interrupts, false);
	before = all_unseen();
}

static struct unseen unseen_since(void)
{
	struct unseen unseen = all_unseen();

	unseen.allocations -= before.allocations + atomic_long_read(&own_allocations);
	unseen.allocations *= READ_ONCE(in_interrupts);
	unseen.allocations += unseen.too_many - before.too_many;
	return unseen;
}

void judge_calls_show(struct seq_file *seq)
{
	seq_printf(seq, "%d allocations, %d failed, %lu not seen\n", atomic_read(&allocations),
		   atomic_read(&failures), unseen_since().allocations);
}

/* If peerpin.ko was loaded after judge.ko, its functions have no probes. */
static bool misses_peerpin(void)
{
	const struct kprobe *probe;
	unsigned int i;
	bool misses = false;

	if (!symbol_get(peerpin_attach))
		return false;
	for (i = 0; i < ALLOCATORS; i++) {
		probe = &allocator_probes[i].kp;
		misses |= judge_allocators[i].at_entry && (!probe->symbol_name || probe->flags & KPROBE_FLAG_GONE);
	}
	symbol_put(peerpin_attach);
	return misses;
}

void judge_calls_show_unseen(struct seq_file *seq)
{
	unsigned long unseen = unseen_since().allocations;

	if (misses_peerpin())
		seq_puts(seq, "# peerpin.ko was loaded after judge.ko: allocations by it were not seen\n");
	if (unseen)
		seq_printf(seq, "# %lu allocations were not seen\n", unseen);
}
