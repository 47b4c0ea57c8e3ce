// SPDX-License-Identifier: GPL-2.0
#include <linux/build_bug.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/idr.h>
#include <linux/mm.h>
#include <linux/poison.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>

#include "allocator.h"
#include "misuse.h"

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

/* Runs in a work item. undo() took the device reference, because the subject may have dropped its own. */
static void undo_dma(const struct call *call)
{
	dma_free_coherent(device_of(call), call->arguments[1], (void *)call->result, call->handle);
	put_device(device_of(call));
}

/* A real call fails at its first chunk and leaves a zeroed table. sg_free_table() would leave the counts of entries. */
static void undo_sg(const struct call *call)
{
	struct sg_table *table = (struct sg_table *)call->arguments[0];

	sg_free_table(table);
	memset(table, 0, sizeof(*table));
}

static void undo_ida(const struct call *call)
{
	ida_free((struct ida *)call->arguments[0], call->result);
}

static void undo_idr(const struct call *call)
{
	idr_remove((struct idr *)call->arguments[0], call->result);
}

/* __xa_erase() needs the xarray's lock. The subject holds the lock during its call of __xa_alloc(). */
static void undo_xa(const struct call *call)
{
	__xa_erase((struct xarray *)call->arguments[0], *(u32 *)call->arguments[1]);
}

/* peerpin_region_pin(range, reason) always writes a reason. 0: the cause is not known */
static void refuse_pin(const struct pt_regs *regs)
{
	u32 *reason = (u32 *)regs->si;

	if (reason)
		*reason = 0;
}

enum { NONE = ARGUMENTS };

/* Between size and flags, these configurations add a bucket argument and a token argument. */
#ifdef CONFIG_SLAB_BUCKETS
#define BUCKETS 1
#else
#define BUCKETS 0
#endif

#ifdef CONFIG_KMALLOC_PARTITION_CACHES
#define TOKENS 1
#else
#define TOKENS 0
#endif

/* Since 6.18 kvmalloc_node() has an alignment argument between size and flags. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define ALIGNMENT 0
#else
#define ALIGNMENT 1
#endif

/* The highest index of a flags argument must be below NONE. */
static_assert(1 + BUCKETS + TOKENS + ALIGNMENT < NONE);

/* Names of a function: before kernel 6.10, and since 6.10 */
#define NAMES(name) { name, name "_noprof" }

#define GFP(n) .flags = n
#define COPIED(bytes, how) .size = bytes, .watched = true, .undo = how
#define MEMORY(bytes, how) COPIED(bytes, how), .is_fresh = true
#define SETS(n, type) .result_at = n, .result_size = sizeof(type)
#define NUMBER(how) .failure = -ENOMEM, .is_int = true, .undo = how

/* An allocator that calls another allocator counts once: only calls from the subject's code count. */
const struct allocator judge_allocators[] = {
	{ NAMES("__kmalloc"), GFP(1 + TOKENS), MEMORY(0, undo_kmalloc), .needed = true },
	{ NAMES("__kmalloc_node"), GFP(1 + BUCKETS + TOKENS), MEMORY(0, undo_kmalloc) },
	{ NAMES("__kmalloc_node_track_caller"), GFP(1 + BUCKETS + TOKENS), MEMORY(0, undo_kmalloc) },
	{ { "kmalloc_trace", "__kmalloc_cache_noprof" }, GFP(1), MEMORY(2, undo_kmalloc) },
	{ { "kmalloc_node_trace", "__kmalloc_cache_node_noprof" }, GFP(1), MEMORY(3, undo_kmalloc) },
	{ { "kmalloc_large", "__kmalloc_large_noprof" }, GFP(1), MEMORY(0, undo_kmalloc) },
	{ { "kmalloc_large_node", "__kmalloc_large_node_noprof" }, GFP(1), MEMORY(0, undo_kmalloc) },
	{ NAMES("kmemdup"), GFP(2), COPIED(1, undo_kmalloc) },
	{ NAMES("kstrdup"), GFP(1), COPIED(NONE, undo_kmalloc) },
	{ { "memdup_user" }, GFP(NONE), COPIED(1, undo_kmalloc), .failure = -ENOMEM },
	{ { "vmemdup_user" }, GFP(NONE), COPIED(1, undo_kvmalloc), .failure = -ENOMEM, .sleeps = true },
	{ { "kvmalloc_node", "__kvmalloc_node_noprof" }, GFP(1 + BUCKETS + TOKENS + ALIGNMENT),
	  MEMORY(0, undo_kvmalloc), .sleeps = true },
	{ NAMES("vmalloc"), GFP(NONE), MEMORY(0, undo_kvmalloc), .sleeps = true },
	{ NAMES("vzalloc"), GFP(NONE), MEMORY(0, undo_kvmalloc), .sleeps = true },
	{ NAMES("__vmalloc"), GFP(1), MEMORY(0, undo_kvmalloc), .sleeps = true },
	{ NAMES("vmalloc_user"), GFP(NONE), MEMORY(0, undo_kvmalloc), .sleeps = true },
	{ NAMES("kmem_cache_alloc"), GFP(1), MEMORY(NONE, undo_cache) },
	{ NAMES("kmem_cache_alloc_node"), GFP(1), MEMORY(NONE, undo_cache) },
	{ { "__get_free_pages", "get_free_pages_noprof" }, GFP(0), MEMORY(NONE, undo_free_pages) },
	{ NAMES("get_zeroed_page"), GFP(0), MEMORY(NONE, undo_zeroed_page) },
	{ { "dma_alloc_attrs" }, GFP(3), MEMORY(1, undo_dma), SETS(2, dma_addr_t), .sleeps = true, .of_device = true },
	{ NAMES("alloc_pages"), GFP(0), .undo = undo_pages },
	{ { "sg_alloc_table" }, GFP(2), NUMBER(undo_sg) },
	{ { "ida_alloc_range" }, GFP(3), NUMBER(undo_ida) },
	{ { "idr_alloc" }, GFP(NONE), NUMBER(undo_idr) },
	{ { "__xa_alloc" }, GFP(NONE), NUMBER(undo_xa) },
	{ { "__xa_alloc_cyclic" }, GFP(NONE), NUMBER(undo_xa), SETS(4, u32) },
	{ { "devm_kmalloc" }, GFP(2) },
	{ { "dmam_alloc_attrs" }, GFP(3), SETS(2, dma_addr_t) },
	{ { "pcim_iomap" }, GFP(NONE) },
	{ { "peerpin_peer_register" }, GFP(NONE), COPIED(NONE, NULL), .failure = -ENOMEM, .at_entry = true,
	  .made = judge_misuse_registered },
	{ { "peerpin_region_pin" }, GFP(NONE), .failure = -ENOMEM, .at_entry = true, .fails = refuse_pin },
	{ { "peerpin_attach" }, GFP(NONE), .failure = -ENOMEM, .at_entry = true },
};

bool judge_allocator_failed(const struct allocator *a, unsigned long result)
{
	if (a->is_int)
		return (int)result < 0;
	return a->failure ? IS_ERR_VALUE(result) : !result;
}

size_t judge_allocator_size(const struct call *call)
{
	unsigned int n = call->allocator->size;

	if (call->allocator->undo == undo_cache)
		return kmem_cache_size((struct kmem_cache *)call->arguments[0]);
	return n == NONE ? 0 : call->arguments[n];
}

/* The last byte of an object that fills its place in the slab is POISON_END. */
static bool is_poisoned(const u8 *at, size_t size)
{
	return !memchr_inv(at, POISON_FREE, size - 1) && (at[size - 1] == POISON_FREE || at[size - 1] == POISON_END);
}

void judge_allocator_mark(const struct call *call)
{
	size_t size = judge_allocator_size(call);

	if (call->allocator->is_fresh && size && is_poisoned((const u8 *)call->result, size))
		memset((void *)call->result, POISON_INUSE, size);
}

bool judge_allocator_must(const struct call *call)
{
	unsigned int n = call->allocator->flags;

	return n != NONE && call->arguments[n] & (__force unsigned long)__GFP_NOFAIL;
}

static void *set_by(const struct call *call)
{
	return (void *)call->arguments[call->allocator->result_at];
}

/* The subject's pointer may be wrong. */
void judge_allocator_keep(struct call *call)
{
	copy_from_kernel_nofault(&call->before, set_by(call), call->allocator->result_size);
}

void judge_allocator_restore(const struct call *call)
{
	memcpy(set_by(call), &call->before, call->allocator->result_size);
}
