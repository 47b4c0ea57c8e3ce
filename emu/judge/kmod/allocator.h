/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocators: the kernel's functions that allocate, and how what each gave is
 * taken back.
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
 * @size: number of the argument that is the size; ARGUMENTS: none is
 * @flags: number of the argument that says how to allocate; ARGUMENTS: none does
 * @failure: what it returns when it fails
 * @is_int: it returns an int, which is not negative when it does not fail
 * @watched: is to be freed by a liberator
 * @at_entry: fails before it is called, since not everybody may undo it
 * @needed: nothing can be judged in a kernel that has none
 * @sleeps: so does @undo
 * @of_device: of the device that its first argument is, and the third says where @undo's handle is
 * @made: is told what it returned
 * @undo: frees what @call got; NULL: that goes with the device
 */
struct allocator {
	const char *symbols[SYMBOLS_MAX];
	unsigned int size;
	unsigned int flags;
	long failure;
	bool is_int;
	bool watched;
	bool at_entry;
	bool needed;
	bool sleeps;
	bool of_device;
	void (*made)(const void *what);
	void (*undo)(const struct call *call);
};

extern const struct allocator judge_allocators[ALLOCATORS];

/* Did @a, which returned @result, allocate nothing? */
bool judge_allocator_failed(const struct allocator *a, unsigned long result);

/* Is @call one that must not fail? */
bool judge_allocator_must(const struct call *call);

/* Bytes that @call got; 0: not known */
size_t judge_allocator_size(const struct call *call);

#endif
