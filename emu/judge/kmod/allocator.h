/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocators: the kernel functions that allocate, and how to undo each allocation.
 */
#ifndef _JUDGE_ALLOCATOR_H
#define _JUDGE_ALLOCATOR_H

#include <linux/types.h>
#include <linux/workqueue.h>

enum {
	ALLOCATORS = 33,
	ARGUMENTS = 6,
	SYMBOLS_MAX = 2,
};

/* One call by the subject, from entry to return. @before: what @result_at of struct allocator pointed to at entry */
struct call {
	unsigned long arguments[ARGUMENTS];
	unsigned long caller;
	unsigned long result;
	dma_addr_t handle;
	u64 before;
	const struct allocator *allocator;
	struct work_struct undoing;
};

/**
 * struct allocator - a function that allocates
 * @symbols: names of the function in different kernels; the first name that exists is probed
 * @size: index of the argument with the size; ARGUMENTS: no such argument
 * @flags: index of the argument with the GFP flags; ARGUMENTS: no such argument
 * @failure: return value of a failed call
 * @is_int: the function returns an int, negative on failure
 * @is_fresh: the new memory is not a copy
 * @watched: the memory counts as leaked until a liberator frees it
 * @at_entry: to fail, the function returns at entry without running, because @undo could not free the result
 * @needed: judge.ko does not load on a kernel without this function
 * @sleeps: @undo may sleep
 * @result_at: index of the argument that points to a value, which only a successful call sets
 * @result_size: size of this value, at most 8 bytes; 0: no such value
 * @of_device: the first argument is the device, the third points to the DMA handle for @undo
 * @made: called with the return value of each successful call
 * @fails: called at entry if @at_entry makes the call fail; writes the results of a failed call
 * @undo: frees the allocation of @call; NULL: not needed, e.g. the kernel frees it when the device is removed
 */
struct allocator {
	const char *symbols[SYMBOLS_MAX];
	unsigned int size;
	unsigned int flags;
	unsigned int result_at;
	unsigned int result_size;
	long failure;
	bool is_int;
	bool is_fresh;
	bool watched;
	bool at_entry;
	bool needed;
	bool sleeps;
	bool of_device;
	void (*made)(const void *what);
	void (*fails)(const struct pt_regs *regs);
	void (*undo)(const struct call *call);
};

extern const struct allocator judge_allocators[ALLOCATORS];

/* Whether a call of @a that returned @result has failed */
bool judge_allocator_failed(const struct allocator *a, unsigned long result);

/* Whether @call must not fail, because it has __GFP_NOFAIL */
bool judge_allocator_must(const struct call *call);

/* Replaces POISON_FREE in new memory by POISON_INUSE, so that a splat distinguishes unwritten from freed memory. */
void judge_allocator_mark(const struct call *call);

/* At entry of @call: keeps the value that a successful call sets. */
void judge_allocator_keep(struct call *call);

/* Gives this value back, because a call that fails does not set it. */
void judge_allocator_restore(const struct call *call);

/* Size in bytes of the allocation by @call; 0: unknown */
size_t judge_allocator_size(const struct call *call);

#endif
