// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/idr.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/scatterlist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <peerpin.h>

#include "call.h"
#include "misuse.h"
#include "object.h"
#include "skip.h"
#include "subject.h"

enum {
	ARGUMENTS = 4,
	SYMBOLS_MAX = 2,
	NO_SIZE = ARGUMENTS,
	AT_ONCE = 128,		/* allocations under way at the same time */
};

/* One call of the subject's, from entry to return */
struct call {
	unsigned long arguments[ARGUMENTS];
	unsigned long caller;
	unsigned long result;
	dma_addr_t handle;
	const struct allocator *allocator;
	struct work_struct undoing;
};

/**
 * struct allocator - a function that allocates
 * @symbols: its names in the kernels there are; the first one that exists is it
 * @size: number of the argument that is the size, or NO_SIZE
 * @failure: what it returns when it fails
 * @is_int: it returns an int, which is not negative when it does not fail
 * @watched: is to be freed by one of the functions of @liberators
 * @at_entry: fails before it is called, since not everybody may undo it
 * @needed: nothing can be judged in a kernel that has none
 * @sleeps: so does @undo
 * @made: is told what it returned
 * @undo: frees what @call got; NULL: that goes with the device
 */
struct allocator {
	const char *symbols[SYMBOLS_MAX];
	unsigned int size;
	long failure;
	bool is_int;
	bool watched;
	bool at_entry;
	bool needed;
	bool sleeps;
	void (*made)(const void *what);
	void (*undo)(const struct call *call);
};

static void undo_kmalloc(const struct call *call)
{
	kfree((void *)call->result);
}

static void undo_kvmalloc(const struct call *call)
{
	kvfree((void *)call->result);
}

static void undo_cache(const struct call *call)
{
	kmem_cache_free((struct kmem_cache *)call->arguments[0], (void *)call->result);
}

static void undo_pages(const struct call *call)
{
	__free_pages((struct page *)call->result, call->arguments[1]);
}

static void undo_free_pages(const struct call *call)
{
	free_pages(call->result, call->arguments[1]);
}

static void undo_zeroed_page(const struct call *call)
{
	free_page(call->result);
}

static struct device *device_of(const struct call *call)
{
	return (struct device *)call->arguments[0];
}

/* Later, when whoever was refused may have let the device go */
static void undo_dma(const struct call *call)
{
	dma_free_coherent(device_of(call), call->arguments[1], (void *)call->result, call->handle);
	put_device(device_of(call));
}

static void undo_sg(const struct call *call)
{
	sg_free_table((struct sg_table *)call->arguments[0]);
}

static void undo_ida(const struct call *call)
{
	ida_free((struct ida *)call->arguments[0], call->result);
}

static void undo_idr(const struct call *call)
{
	idr_remove((struct idr *)call->arguments[0], call->result);
}

/* Its lock is held by who allocated, who has not returned yet. */
static void undo_xa(const struct call *call)
{
	__xa_erase((struct xarray *)call->arguments[0], *(u32 *)call->arguments[1]);
}

/* Names in kernels before 6.10 and since */
#define NAMES(name) { name, name "_noprof" }

#define MEMORY(bytes, how) .size = bytes, .watched = true, .undo = how

/* What these call themselves is not counted twice: it is not the subject that calls. */
static const struct allocator allocators[] = {
	{ NAMES("__kmalloc"), MEMORY(0, undo_kmalloc), .needed = true },
	{ NAMES("__kmalloc_node"), MEMORY(0, undo_kmalloc) },
	{ NAMES("__kmalloc_node_track_caller"), MEMORY(0, undo_kmalloc) },
	{ { "kmalloc_trace", "__kmalloc_cache_noprof" }, MEMORY(2, undo_kmalloc) },
	{ { "kmalloc_node_trace", "__kmalloc_cache_node_noprof" }, MEMORY(3, undo_kmalloc) },
	{ { "kmalloc_large", "__kmalloc_large_noprof" }, MEMORY(0, undo_kmalloc) },
	{ { "kmalloc_large_node", "__kmalloc_large_node_noprof" }, MEMORY(0, undo_kmalloc) },
	{ NAMES("kmemdup"), MEMORY(1, undo_kmalloc) },
	{ NAMES("kstrdup"), MEMORY(NO_SIZE, undo_kmalloc) },
	{ { "memdup_user" }, MEMORY(1, undo_kmalloc), .failure = -ENOMEM },
	{ { "vmemdup_user" }, MEMORY(1, undo_kvmalloc), .failure = -ENOMEM, .sleeps = true },
	{ { "kvmalloc_node", "__kvmalloc_node_noprof" }, MEMORY(0, undo_kvmalloc), .sleeps = true },
	{ NAMES("vmalloc"), MEMORY(0, undo_kvmalloc), .sleeps = true },
	{ NAMES("vzalloc"), MEMORY(0, undo_kvmalloc), .sleeps = true },
	{ NAMES("__vmalloc"), MEMORY(0, undo_kvmalloc), .sleeps = true },
	{ NAMES("vmalloc_user"), MEMORY(0, undo_kvmalloc), .sleeps = true },
	{ NAMES("kmem_cache_alloc"), MEMORY(NO_SIZE, undo_cache) },
	{ NAMES("kmem_cache_alloc_node"), MEMORY(NO_SIZE, undo_cache) },
	{ { "__get_free_pages", "get_free_pages_noprof" }, MEMORY(NO_SIZE, undo_free_pages) },
	{ NAMES("get_zeroed_page"), MEMORY(NO_SIZE, undo_zeroed_page) },
	{ { "dma_alloc_attrs" }, MEMORY(1, undo_dma), .sleeps = true },
	{ NAMES("alloc_pages"), .undo = undo_pages },
	{ { "sg_alloc_table" }, .failure = -ENOMEM, .is_int = true, .undo = undo_sg },
	{ { "ida_alloc_range" }, .failure = -ENOMEM, .is_int = true, .undo = undo_ida },
	{ { "idr_alloc" }, .failure = -ENOMEM, .is_int = true, .undo = undo_idr },
	{ { "__xa_alloc" }, .failure = -ENOMEM, .is_int = true, .undo = undo_xa },
	{ { "__xa_alloc_cyclic" }, .failure = -ENOMEM, .is_int = true, .undo = undo_xa },
	{ { "devm_kmalloc" } },
	{ { "dmam_alloc_attrs" } },
	{ { "pcim_iomap" } },
	{ { "peerpin_peer_register" }, MEMORY(NO_SIZE, NULL), .failure = -ENOMEM, .at_entry = true,
	  .made = judge_misuse_registered },
	{ { "peerpin_region_pin" }, .failure = -ENOMEM, .at_entry = true },
	{ { "peerpin_attach" }, .failure = -ENOMEM, .at_entry = true },
};

/* Functions that free, by the number of the argument that says what. Those that call one of these have no line. */
static const struct liberator {
	const char *symbol;
	unsigned int argument;
	bool needed;
} liberators[] = {
	{ "kfree", 0, true },
	{ "vfree", 0 },
	{ "vfree_atomic", 0 },
	{ "kmem_cache_free", 1 },
	{ "free_pages", 0 },
	{ "dma_free_attrs", 2 },
	{ "kvfree_call_rcu", 1 },
	{ "peerpin_peer_unregister", 0 },
};

enum { OFFSETS_MAX = 4096 };	/* of a struct rcu_head in another structure */

static struct kretprobe allocator_probes[ARRAY_SIZE(allocators)];
static struct kprobe entry_probes[ARRAY_SIZE(allocators)];
static struct kprobe liberator_probes[ARRAY_SIZE(liberators)];
static atomic_t allocations, failures;
static atomic_t until_failure;		/* 0: none is to fail */
static struct workqueue_struct *undoing;

/* Calls that no probe saw, since one ran on that CPU already, or as @too_many were under way */
struct unseen {
	unsigned long allocations;
	unsigned long too_many;
	unsigned long frees;
};

/*
 * Only an interrupt comes in the middle of a probe, so the allocations there are
 * not the subject's unless it is seen to allocate in interrupts.
 */
static bool in_interrupts;

/* Those that there were at the last reset, and those since that undo() made itself */
static struct unseen before;
static atomic_long_t own_allocations, own_frees;

static unsigned long argument(const struct pt_regs *regs, unsigned int n)
{
	const unsigned long arguments[ARGUMENTS] = { regs->di, regs->si, regs->dx, regs->cx };

	return arguments[n];
}

/* ---- allocating ----------------------------------------------------------------------- */

/* At a function's first instruction its return address is on top of the stack. */
static int entered(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct call *call = (struct call *)instance->data;
	unsigned long caller = *(unsigned long *)regs->sp;
	unsigned int i;

	if (!judge_subject_has(caller))
		return 1;
	if (in_hardirq() || in_serving_softirq())
		WRITE_ONCE(in_interrupts, true);
	call->caller = caller;
	for (i = 0; i < ARGUMENTS; i++)
		call->arguments[i] = argument(regs, i);
	return 0;
}
NOKPROBE_SYMBOL(entered);

static bool has_failed(const struct allocator *a, unsigned long result)
{
	if (a->is_int)
		return (int)result < 0;
	return a->failure ? IS_ERR_VALUE(result) : !result;
}

static void undo_later(struct work_struct *work)
{
	struct call *call = container_of(work, struct call, undoing);

	call->allocator->undo(call);
	kfree(call);
}

/* A probe must not sleep. False: there is no memory for the work item. */
static bool undo(const struct call *call)
{
	struct call *copy;

	if (!call->allocator->undo)
		return true;
	if (!call->allocator->sleeps) {
		call->allocator->undo(call);
		return true;
	}
	copy = kmemdup(call, sizeof(*call), GFP_ATOMIC | __GFP_NOWARN);
	if (!copy)
		return false;
	if (call->allocator->undo == undo_dma)
		get_device(device_of(call));
	INIT_WORK(&copy->undoing, undo_later);
	queue_work(undoing, &copy->undoing);
	return true;
}

static struct unseen all_unseen(void)
{
	struct unseen unseen = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(allocators); i++) {
		unseen.allocations += allocator_probes[i].kp.nmissed;
		unseen.too_many += allocator_probes[i].nmissed;
	}
	for (i = 0; i < ARRAY_SIZE(liberators); i++)
		unseen.frees += liberator_probes[i].nmissed;
	return unseen;
}

/* What it calls itself is not seen, since a probe runs already. */
static bool undo_unseen(const struct call *call)
{
	struct unseen first = all_unseen(), last;
	bool undone = undo(call);

	last = all_unseen();
	atomic_long_add(last.allocations - first.allocations, &own_allocations);
	atomic_long_add(last.frees - first.frees, &own_frees);
	return undone;
}

static bool is_due(void)
{
	return atomic_dec_if_positive(&until_failure) == 0;
}

/* As returned(), for those that fail at entry; the probe of that has not put its return address there yet. */
static int entering(struct kprobe *probe, struct pt_regs *regs)
{
	if (!judge_subject_has(*(unsigned long *)regs->sp) || !is_due())
		return 0;
	atomic_inc(&allocations);
	atomic_inc(&failures);
	return judge_skip(regs, allocators[probe - entry_probes].failure);
}
NOKPROBE_SYMBOL(entering);

static size_t size_of(const struct call *call)
{
	unsigned int n = call->allocator->size;

	return n == NO_SIZE ? 0 : call->arguments[n];
}

static int returned(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct call *call = (struct call *)instance->data;
	const struct allocator *a = &allocators[get_kretprobe(instance) - allocator_probes];

	call->allocator = a;
	call->result = regs_return_value(regs);
	atomic_inc(&allocations);
	if (has_failed(a, call->result))
		return 0;
	if (a->made)
		a->made((void *)call->result);
	if (a->undo == undo_dma)
		call->handle = *(dma_addr_t *)call->arguments[2];
	if (!a->at_entry && is_due() && undo_unseen(call)) {
		atomic_inc(&failures);
		regs_set_return_value(regs, a->failure);
	} else if (a->watched) {
		judge_object_add((void *)call->result, size_of(call), call->caller);
	}
	return 0;
}
NOKPROBE_SYMBOL(returned);

/* ---- freeing --------------------------------------------------------------------------- */

/* Until 6.3 the argument of kvfree_call_rcu() is the offset of its first one. */
static int freed(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned long what = argument(regs, liberators[probe - liberator_probes].argument);

	if (what && what < OFFSETS_MAX)
		what = argument(regs, 0) - what;
	judge_object_remove((void *)what);
	return 0;
}
NOKPROBE_SYMBOL(freed);

/* ---- beginning and end ------------------------------------------------------------------ */

/* The functions of other kernels, and of modules that are not loaded, are not there. */
static int take_error(int err, const char **name, const char *symbol, bool needed)
{
	if (!err)
		return 0;
	*name = NULL;
	if (err == -ENOENT)
		pr_info("there is no %s\n", symbol);
	return err == -ENOENT && !needed ? 0 : err;
}

static int probe_allocator(unsigned int i)
{
	struct kretprobe *probe = &allocator_probes[i];
	const char *const *symbol = allocators[i].symbols;
	int err = -ENOENT;

	for (; err == -ENOENT && symbol < allocators[i].symbols + SYMBOLS_MAX && *symbol; symbol++) {
		*probe = (struct kretprobe){
			.kp.symbol_name = *symbol,
			.entry_handler = entered,
			.handler = returned,
			.data_size = sizeof(struct call),
			.maxactive = AT_ONCE,
		};
		err = register_kretprobe(probe);
	}
	return take_error(err, &probe->kp.symbol_name, allocators[i].symbols[0], allocators[i].needed);
}

/* After the one of its return, since what is registered later comes first */
static int probe_entry(unsigned int i)
{
	struct kprobe *probe = &entry_probes[i];
	int err;

	if (!allocators[i].at_entry || !allocator_probes[i].kp.symbol_name)
		return 0;
	*probe = (struct kprobe){
		.symbol_name = allocators[i].symbols[0],
		.pre_handler = entering,
		.post_handler = JUDGE_SKIP_POST,
	};
	err = register_kprobe(probe);
	if (err)
		probe->symbol_name = NULL;
	return err;
}

static int probe_liberator(unsigned int i)
{
	struct kprobe *probe = &liberator_probes[i];
	int err;

	*probe = (struct kprobe){ .symbol_name = liberators[i].symbol, .pre_handler = freed };
	err = register_kprobe(probe);
	return take_error(err, &probe->symbol_name, liberators[i].symbol, liberators[i].needed);
}

void judge_calls_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(allocators); i++) {
		if (entry_probes[i].symbol_name)
			unregister_kprobe(&entry_probes[i]);
		if (allocator_probes[i].kp.symbol_name)
			unregister_kretprobe(&allocator_probes[i]);
	}
	for (i = 0; i < ARRAY_SIZE(liberators); i++)
		if (liberator_probes[i].symbol_name)
			unregister_kprobe(&liberator_probes[i]);
	destroy_workqueue(undoing);
}

int judge_calls_init(void)
{
	unsigned int i;
	int err = 0;

	undoing = alloc_workqueue(KBUILD_MODNAME, WQ_UNBOUND, 0);
	if (!undoing)
		return -ENOMEM;
	for (i = 0; !err && i < ARRAY_SIZE(allocators); i++)
		err = probe_allocator(i) ?: probe_entry(i);
	for (i = 0; !err && i < ARRAY_SIZE(liberators); i++)
		err = probe_liberator(i);
	if (err) {
		pr_err("a probe could not be set: %d\n", err);
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
	atomic_long_set(&own_frees, 0);
	WRITE_ONCE(in_interrupts, false);
	before = all_unseen();
}

static struct unseen unseen_since(void)
{
	struct unseen unseen = all_unseen();

	unseen.allocations -= before.allocations + atomic_long_read(&own_allocations);
	unseen.allocations *= READ_ONCE(in_interrupts);
	unseen.allocations += unseen.too_many - before.too_many;
	unseen.frees -= before.frees + atomic_long_read(&own_frees);
	return unseen;
}

void judge_calls_show(struct seq_file *seq)
{
	seq_printf(seq, "%d allocations, %d failed, %lu not seen\n", atomic_read(&allocations),
		   atomic_read(&failures), unseen_since().allocations);
}

/* It may be there without a probe when it was loaded later. */
static bool misses_peerpin(void)
{
	const struct kprobe *probe;
	unsigned int i;
	bool misses = false;

	if (!symbol_get(peerpin_attach))
		return false;
	for (i = 0; i < ARRAY_SIZE(allocators); i++) {
		probe = &allocator_probes[i].kp;
		misses |= allocators[i].at_entry && (!probe->symbol_name || probe->flags & KPROBE_FLAG_GONE);
	}
	symbol_put(peerpin_attach);
	return misses;
}

void judge_calls_show_unseen(struct seq_file *seq)
{
	struct unseen unseen = unseen_since();

	if (misses_peerpin())
		seq_puts(seq, "# peerpin.ko was loaded after judge.ko: allocations by it were not seen\n");
	if (unseen.allocations)
		seq_printf(seq, "# %lu allocations were not seen\n", unseen.allocations);
	if (unseen.frees)
		seq_printf(seq, "# %lu frees were not seen\n", unseen.frees);
}
