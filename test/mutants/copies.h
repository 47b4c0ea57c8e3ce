/* SPDX-License-Identifier: MIT */
/*
 * Tests that direct_test.c and importer_test.c share. The driver's calls differ: each program defines the four functions
 * at the top, before or after this file is included.
 */
#ifndef MUTANTS_COPIES_H
#define MUTANTS_COPIES_H

#include <errno.h>
#include "gpu.h"

enum {
	PAGE = 4096,
	GPU_PAGE = 64 * KIB,
	NEVER = 0x7ffffff0,	/* a handle that never exists */
	SIZE = 4 * MIB,
	DST_SIZE = 3 * MIB,
};

/* A part of @memory that the driver can access, from offset @at on */
struct part {
	struct memory *memory;
	size_t at;
	uint32_t handle;
};

/* Opens the driver's device node. */
static int node(void);

/* Makes the driver access @length bytes of @m from offset @at on. drop() ends that; it returns 0 or errno. */
static struct part take(int fd, struct memory *m, size_t at, size_t length);
static int drop(int fd, uint32_t handle);

/* Returns 0 or errno. */
static int copy_handles(int fd, uint32_t dst, uint64_t to, uint32_t src, uint64_t from, uint64_t length);

/* Copy by the chip, and copy the same bytes in the model. */
static inline void copy(int fd, struct part dst, size_t to, struct part src, size_t from, size_t length)
{
	NEED(!copy_handles(fd, dst.handle, to, src.handle, from, length));
	memcpy(dst.memory->model + dst.at + to, src.memory->model + src.at + from, length);
}

static inline void copy_and_look(int fd, struct part dst, size_t to, struct part src, size_t from, size_t length)
{
	copy(fd, dst, to, src, from, length);
	TRUE_DATA(memory_is_as_modelled(dst.memory));
}

/* ---- tests ------------------------------------------------------------------- */

/* @src is a whole allocation. @dst has DST_SIZE bytes, from any offset on. */
static inline void sizes(int fd, struct part dst, struct part src)
{
	copy(fd, dst, 0, src, 0, 1);
	copy(fd, dst, 5, src, 3, PAGE + 1);
	copy(fd, dst, GPU_PAGE - 100, src, 2 * GPU_PAGE - 7, 200);
	copy_and_look(fd, dst, 2 * GPU_PAGE + 11, src, 77, GPU_PAGE + 1);
	copy_and_look(fd, dst, 0, src, 1, DST_SIZE);
}

/* Two parts of the memory @a overlap. The wide part begins at offset @at. */
static inline void overlapping(int fd, struct memory *a, size_t at, struct memory *b)
{
	struct part first = take(fd, a, 3 * GPU_PAGE, 4 * GPU_PAGE), wide = take(fd, a, at, 20 * GPU_PAGE);
	struct part to = take(fd, b, 0, MIB);

	NEED(!drop(fd, first.handle));
	copy_and_look(fd, to, 9, wide, 17, 15 * GPU_PAGE);
	NEED(!drop(fd, wide.handle));
	NEED(!drop(fd, to.handle));
}

/* If the driver accepts a bad copy, no byte of the memory may change: compare with the model. */
static inline void refused(int fd, struct part dst, uint64_t to, struct part src, uint64_t from, uint64_t length,
			   int want)
{
	int err = copy_handles(fd, dst.handle, to, src.handle, from, length);

	if (!err)
		TRUE_DATA(memory_is_as_modelled(dst.memory));
	NEED(err == want || err == ESTALE);
}

static inline void bad_ranges(int fd, struct part dst, struct part src)
{
	refused(fd, dst, 0, src, 0, 0, EINVAL);
	refused(fd, dst, DST_SIZE, src, 0, 1, EINVAL);
	refused(fd, dst, 0, src, SIZE - 8, 9, EINVAL);
	refused(fd, dst, ~0ull, src, 0, 2, EINVAL);
	refused(fd, dst, GPU_PAGE, src, GPU_PAGE, 0ull - PAGE, EINVAL);
	refused(fd, dst, 100, dst, 0, 200, EINVAL);
}

static inline void bad_handles(int fd, struct part dst, struct part src)
{
	struct part gone = take(fd, dst.memory, 0, GPU_PAGE), never = dst;

	NEED(!drop(fd, gone.handle));
	NEED(drop(fd, gone.handle) == ENOENT);
	never.handle = NEVER;
	refused(fd, gone, 0, src, 0, PAGE, ENOENT);
	refused(fd, dst, 0, never, PAGE, PAGE, ENOENT);
}

/* The chip must read the memory after earlier GPU work has finished. */
static inline void after_gpu_work(int fd, struct part dst, struct part src)
{
	NEED(!cuMemsetD8(src.memory->va, 0x77, GPU_PAGE));
	memset(src.memory->model, 0x77, GPU_PAGE);
	copy_and_look(fd, dst, 100, src, 0, GPU_PAGE);
}

/* Each file has its own handles. Close one file with handles left: the other file keeps its handles. @at: in @a */
static inline void two_descriptors(int fd, struct memory *a, size_t at, struct memory *b)
{
	int second = node();
	struct part from = take(second, a, at, MIB), to = take(second, b, 0, MIB);

	copy_and_look(second, to, 0, from, 0, MIB);
	from = take(fd, a, GPU_PAGE, MIB);
	NEED(!close(second));
	to = take(fd, b, PAGE, MIB);
	copy_and_look(fd, to, 0, from, 1, MIB - 1);
	NEED(!drop(fd, from.handle));
	NEED(!drop(fd, to.handle));
}

#endif
