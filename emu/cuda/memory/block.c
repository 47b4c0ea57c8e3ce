// SPDX-License-Identifier: MIT
#include "block.h"

#include "emu/cuda/context/device.h"
#include "emu/cuda/context/init.h"
#include "emu/cuda/context/node.h"
#include "space.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	GPU_BLOCK = EMUGPU_BLOCK_SIZE,
	SHARED_MAX = 1 << 20,
};

/* Where the memory of a block comes from */
enum home {
	HOME_GPU,	/* from the kernel, at a GPU address */
	HOME_BOTH,	/* like HOME_GPU, also mapped for the CPU: host memory of an integrated GPU */
	HOME_CPU,	/* mmap() by this library */
	HOME_CALLER,	/* passed by the program */
};

static enum home home_of(enum alloc_kind kind, CUdevice device)
{
	switch (kind) {
	case ALLOC_HOST:
		return device_get(device)->out_integrated ? HOME_BOTH : HOME_CPU;
	case ALLOC_MANAGED:
		return HOME_CPU;
	case ALLOC_REGISTERED:
		return HOME_CALLER;
	default:
		return HOME_GPU;
	}
}

bool block_is_shared(const struct alloc_info *want)
{
	return home_of(want->kind, want->device) == HOME_GPU && want->size <= SHARED_MAX;
}

bool block_allows_rdma(const struct block *b)
{
	enum home home = home_of(b->kind, b->device);

	if (device_get(b->device)->out_integrated)
		return home == HOME_BOTH;
	return home == HOME_GPU && b->kind != ALLOC_POOL;
}

static size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

static void delete_block(struct block *b)
{
	fit_delete(b->fit);
	free(b);
}

static struct block *new_block(const struct alloc_info *want)
{
	struct block *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->kind = want->kind;
	b->device = want->device;
	LIST_INIT(&b->allocations);
	if (!block_is_shared(want))
		return b;
	b->fit = fit_new(GPU_BLOCK / HEAP_ALIGN);
	if (b->fit)
		return b;
	delete_block(b);
	return NULL;
}

/* ---- addresses of the GPU ---------------------------------------------------- */

static CUresult take_address(struct block *b)
{
	lib_lock();
	b->va = space_take(b->size);
	lib_unlock();
	return b->va ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void give_address(const struct block *b)
{
	lib_lock();
	space_give(b->va, b->size);
	lib_unlock();
}

static struct emugpu_alloc request(const struct block *b, const struct alloc_info *want)
{
	struct emugpu_alloc arg = { .gpu = device_gpu(b->device), .va = b->va, .size = b->size };

	if (want->ctx)
		arg.context = want->ctx->kernel_ctx;
	if (b->kind == ALLOC_POOL)
		arg.flags = EMUGPU_ALLOC_NO_P2P;
	if (b->kind == ALLOC_HOST)
		arg.flags = EMUGPU_ALLOC_HOST;
	if (b->kind == ALLOC_HOST && want->flags & CU_MEMHOSTALLOC_WRITECOMBINED)
		arg.flags |= EMUGPU_ALLOC_WRITE_COMBINED;
	return arg;
}

static CUresult get_gpu(struct block *b, const struct alloc_info *want)
{
	struct emugpu_alloc arg;
	CUresult err;

	b->size = round_up(want->size, GPU_BLOCK);
	err = take_address(b);
	if (err)
		return err;
	arg = request(b, want);
	err = node_alloc(&arg);
	if (err)
		give_address(b);
	return err;
}

/* If the kernel refuses the free, the address is never reused: the block may still exist. */
static CUresult put_gpu(const struct block *b)
{
	CUresult err = node_free(b->va);

	if (!err)
		give_address(b);
	return err;
}

static CUresult put_both(const struct block *b)
{
	CUresult err = space_unmap(b->va, b->size);

	return err ? err : put_gpu(b);
}

/* A failed mmap(MAP_FIXED) may have removed the reservation of the addresses. put_both() restores the reservation. */
static CUresult get_both(struct block *b, const struct alloc_info *want)
{
	CUresult err = get_gpu(b, want);

	if (err)
		return err;
	err = node_map(b->va, b->size);
	if (err)
		put_both(b);
	return err;
}

/* ---- addresses of the CPU ---------------------------------------------------- */

static CUresult get_cpu(struct block *b, const struct alloc_info *want)
{
	void *p;

	b->size = round_up(want->size, sysconf(_SC_PAGESIZE));
	p = mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	b->va = (uintptr_t)p;
	return CUDA_SUCCESS;
}

static CUresult get_callers(struct block *b, const struct alloc_info *want)
{
	b->va = want->addr;
	b->size = want->size;
	return CUDA_SUCCESS;
}

static CUresult get_memory(struct block *b, const struct alloc_info *want)
{
	switch (home_of(b->kind, b->device)) {
	case HOME_GPU:
		return get_gpu(b, want);
	case HOME_BOTH:
		return get_both(b, want);
	case HOME_CPU:
		return get_cpu(b, want);
	default:
		return get_callers(b, want);
	}
}

static CUresult put_memory(const struct block *b)
{
	switch (home_of(b->kind, b->device)) {
	case HOME_GPU:
		return put_gpu(b);
	case HOME_BOTH:
		return put_both(b);
	case HOME_CPU:
		munmap((void *)(uintptr_t)b->va, b->size);
		return CUDA_SUCCESS;
	default:
		return CUDA_SUCCESS;
	}
}

CUresult block_get(const struct alloc_info *want, struct block **out)
{
	struct block *b = new_block(want);
	CUresult err;

	if (!b)
		return CUDA_ERROR_OUT_OF_MEMORY;
	err = get_memory(b, want);
	if (err) {
		delete_block(b);
		return err;
	}
	*out = b;
	return CUDA_SUCCESS;
}

CUresult block_put(struct block *b)
{
	CUresult err = put_memory(b);

	delete_block(b);
	return err;
}
