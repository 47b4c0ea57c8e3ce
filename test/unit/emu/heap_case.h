/* SPDX-License-Identifier: MIT */
/*
 * Blocks and allocations of the emulated CUDA over a mock kernel. The mock refuses the same
 * requests as the real kernel and counts its blocks.
 */
#ifndef HEAP_CASE_H
#define HEAP_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "emu/cuda/memory/alloc.c"
#include "emu/cuda/memory/block.c"
#include "emu/cuda/memory/fit.c"
#include "emu/cuda/memory/heap.c"
#include "emu/cuda/memory/space.c"

#define MIB ((size_t)1 << 20)

enum { MAX_BLOCKS = 4096 };

/* ---- the kernel ------------------------------------------------------------------ */

static struct {
	CUdeviceptr va;
	size_t size;
} kernel[MAX_BLOCKS];
static unsigned int nr_blocks;
static CUresult next_alloc;		/* result of the next ALLOC */
static CUresult next_map;		/* result of the next mmap() */
static void (*in_alloc)(void);		/* called during the next ALLOC */
static void (*in_free)(CUdeviceptr);	/* called during the next FREE, like a free callback */
static bool locked;

void lib_lock(void)
{
	assert_false(locked);
	locked = true;
}

void lib_unlock(void)
{
	assert_true(locked);
	locked = false;
}

static struct CUctx_st ctx = { .kernel_ctx = 77 };
static struct CUmemPoolHandle_st pool;
static struct emugpu_info gpu;
static struct emugpu_alloc last_alloc;

const struct emugpu_info *device_get(CUdevice dev)
{
	assert_int_equal(dev, 0);
	return &gpu;
}

CUresult node_alloc(struct emugpu_alloc *arg)
{
	CUresult answer = next_alloc;
	CUdeviceptr va = arg->va;
	size_t size = arg->size;

	next_alloc = CUDA_SUCCESS;
	last_alloc = *arg;
	assert_false(locked);
	assert_int_equal(arg->gpu, 0);
	assert_true(size && size % GPU_BLOCK == 0 && va && va % GPU_BLOCK == 0 && va + size <= 1ull << 40);
	if (in_alloc)
		in_alloc();
	if (answer)
		return answer;
	for (unsigned int i = 0; i < nr_blocks; i++)
		assert_true(va + size <= kernel[i].va || va >= kernel[i].va + kernel[i].size);
	assert_true(nr_blocks < MAX_BLOCKS);
	kernel[nr_blocks].va = va;
	kernel[nr_blocks++].size = size;
	return CUDA_SUCCESS;
}

CUresult node_free(CUdeviceptr va)
{
	unsigned int i;

	assert_false(locked);
	for (i = 0; i < nr_blocks && kernel[i].va != va; i++)
		;
	assert_true(i < nr_blocks);
	if (in_free)
		in_free(va);
	kernel[i] = kernel[--nr_blocks];
	return CUDA_SUCCESS;
}

/* Map GPU memory for the CPU. Like mmap(), a failed call may have removed the old mapping. */
CUresult node_map(CUdeviceptr va, size_t size)
{
	CUresult answer = next_map;
	void *p;

	next_map = CUDA_SUCCESS;
	if (answer) {
		munmap((void *)(uintptr_t)va, size);
		return answer;
	}
	p = mmap((void *)(uintptr_t)va, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_int_equal((uintptr_t)p, va);
	return CUDA_SUCCESS;
}

static inline int setup(void **state)
{
	(void)state;
	heap_open(&ctx.heap);
	heap_open(&pool.heap);
	pool.heap.keep = 0;
	gpu.out_integrated = 0;
	return space_reserve();
}

static inline bool is_empty(const struct heap *heap)
{
	return TAILQ_EMPTY(&heap->blocks) && !heap->used && !heap->reserved;
}

static inline int teardown(void **state)
{
	(void)state;
	in_free = NULL;
	in_alloc = NULL;
	return nr_blocks || tree || !is_empty(&ctx.heap) || !is_empty(&pool.heap);
}

static inline CUresult try_kind(enum alloc_kind kind, size_t size, unsigned int flags, CUdeviceptr *p)
{
	struct alloc_info want = { .kind = kind, .size = size, .flags = flags };

	if (kind == ALLOC_POOL)
		want.pool = &pool;
	else
		want.ctx = &ctx;
	return heap_alloc(&want, p);
}

static inline CUdeviceptr create_kind(enum alloc_kind kind, size_t size, unsigned int flags)
{
	CUdeviceptr p = 0;

	assert_int_equal(try_kind(kind, size, flags, &p), CUDA_SUCCESS);
	assert_true(p && p % HEAP_ALIGN == 0);
	return p;
}

static inline CUresult try_create(size_t size, CUdeviceptr *p)
{
	return try_kind(ALLOC_DEVICE, size, 0, p);
}

static inline CUdeviceptr create(size_t size)
{
	return create_kind(ALLOC_DEVICE, size, 0);
}

static inline CUresult try_destroy_kind(enum alloc_kind kind, CUdeviceptr p)
{
	struct alloc_info found;
	bool gone;

	if (!alloc_find(p, &found) || found.addr != p || found.kind != kind)
		return CUDA_ERROR_INVALID_VALUE;
	return heap_free(&found, &gone);
}

static inline CUresult try_destroy(CUdeviceptr p)
{
	return try_destroy_kind(ALLOC_DEVICE, p);
}

static inline void destroy(CUdeviceptr p)
{
	assert_int_equal(try_destroy(p), CUDA_SUCCESS);
}

static inline void destroy_kind(enum alloc_kind kind, CUdeviceptr p)
{
	assert_int_equal(try_destroy_kind(kind, p), CUDA_SUCCESS);
}

static inline unsigned long long id_of(CUdeviceptr p)
{
	struct alloc_info info;

	return alloc_find(p, &info) ? info.id : 0;
}

#endif
