// SPDX-License-Identifier: MIT
#include "transfer.h"

#include "emu/cuda/memory/alloc.h"
#include "emu/cuda/context/node.h"
#include "emu/cuda/memory/space.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum side {
	SIDE_PAGEABLE,
	SIDE_LOCKED,	/* host memory known to CUDA */
	SIDE_GPU,
};

/**
 * struct job - a checked transfer
 * @work: entry in the queue of a stream
 * @to: side of @t.dst
 * @from: side of @t.src; SIDE_PAGEABLE for a fill
 * @to_id: id of the allocation at @t.dst
 * @from_id: id of the allocation at @t.src
 * @synchronous: SYNC_MEMOPS is set for an allocation or the context
 * @staged: copy of the source, or NULL
 */
struct job {
	struct work work;
	struct transfer t;
	enum side to;
	enum side from;
	unsigned long long to_id;
	unsigned long long from_id;
	bool synchronous;
	void *staged;
};

/* ---- moving bytes ------------------------------------------------------------------- */

/* How many of the @n bytes at @addr one EMUGPU_IOC_COPY can copy: a GPU range must lie in one block. */
static size_t piece(enum side side, CUdeviceptr addr, size_t n)
{
	struct alloc_info info;
	size_t left;

	if (side != SIDE_GPU || !alloc_find(addr, &info))
		return n;
	left = info.addr + info.size - addr;
	return left < n ? left : n;
}

static void fill_cpu(unsigned char *dst, const void *pattern, unsigned int elem, size_t n)
{
	for (size_t i = 0; i < n; i += elem)
		memcpy(dst + i, pattern, elem);
}

static CUresult fill_piece(const struct job *j, CUdeviceptr dst, size_t n)
{
	const uint32_t pattern = j->t.src;

	if (j->to == SIDE_GPU)
		return node_fill(dst, pattern, j->t.elem, n);
	fill_cpu((void *)(uintptr_t)dst, &pattern, j->t.elem, n);
	return CUDA_SUCCESS;
}

static CUresult copy_piece(const struct job *j, CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	if (j->to == SIDE_GPU)
		return node_copy(j->from == SIDE_GPU ? EMUGPU_COPY_DTOD : EMUGPU_COPY_HTOD, dst, src, n);
	if (j->from == SIDE_GPU)
		return node_copy(EMUGPU_COPY_DTOH, dst, src, n);
	memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, n);
	return CUDA_SUCCESS;
}

static CUresult move_row(const struct job *j, CUdeviceptr dst, CUdeviceptr src, size_t left)
{
	CUresult err = CUDA_SUCCESS;
	size_t n;

	for (; left && !err; left -= n, dst += n, src += n) {
		n = piece(j->from, src, piece(j->to, dst, left));
		err = j->t.elem ? fill_piece(j, dst, n) : copy_piece(j, dst, src, n);
	}
	return err;
}

static CUresult move(const struct job *j)
{
	const struct transfer *t = &j->t;
	CUresult err = CUDA_SUCCESS;

	for (size_t row = 0; row < t->rows && !err; row++)
		err = move_row(j, t->dst + row * t->dst_pitch, t->src + row * t->src_pitch, t->width);
	return err;
}

/* ---- checks --------------------------------------------------------------------------- */

/* Number of bytes from the first row's start to the last row's end; 0: overflow. */
static size_t span(const struct transfer *t, size_t pitch)
{
	size_t size;

	if (__builtin_mul_overflow(t->rows - 1, pitch, &size) || __builtin_add_overflow(size, t->width, &size))
		return 0;
	return size;
}

static bool allows(const struct alloc_info *info, CUmemAccess_flags access)
{
	return (info->access & access) == access;
}

/* Whether [@addr, @addr + @size) lies in @info and the mappings that follow without a gap. */
static bool goes_on(struct alloc_info *info, CUdeviceptr addr, size_t size, CUmemAccess_flags access)
{
	while (size > info->size - (addr - info->addr)) {
		size -= info->size - (addr - info->addr);
		addr = info->addr + info->size;
		if (info->kind != ALLOC_VMM || !alloc_find(addr, info) || !allows(info, access))
			return false;
	}
	return true;
}

static CUresult look_at(struct job *j, CUdeviceptr addr, size_t size, CUmemAccess_flags access, enum side *side,
			unsigned long long *id)
{
	struct alloc_info info;

	*side = SIDE_PAGEABLE;
	if (!size)
		return CUDA_ERROR_INVALID_VALUE;
	if (!alloc_find(addr, &info))
		return space_has(addr) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	*side = alloc_on_cpu(&info) ? SIDE_LOCKED : SIDE_GPU;
	*id = info.id;
	j->synchronous |= info.sync_memops;
	if (!allows(&info, access) || !goes_on(&info, addr, size, access))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult look_at_fill(struct job *j)
{
	const unsigned int elem = j->t.elem;

	if (j->to == SIDE_PAGEABLE || j->t.dst % elem || (j->t.rows > 1 && j->t.dst_pitch % elem))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* With unified addressing, the addresses define the direction. The function's name only restricts the addresses. */
static CUresult look(struct job *j, unsigned int flags)
{
	const struct transfer *t = &j->t;
	CUresult err = look_at(j, t->dst, span(t, t->dst_pitch), CU_MEM_ACCESS_FLAGS_PROT_READWRITE, &j->to,
			       &j->to_id);

	if (err)
		return err;
	if (t->elem)
		return look_at_fill(j);
	err = look_at(j, t->src, span(t, t->src_pitch), CU_MEM_ACCESS_FLAGS_PROT_READ, &j->from, &j->from_id);
	if (err)
		return err;
	if (flags & TRANSFER_TO_GPU && j->to == SIDE_PAGEABLE)
		return CUDA_ERROR_INVALID_VALUE;
	return flags & TRANSFER_FROM_GPU && j->from == SIDE_PAGEABLE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* ---- execution --------------------------------------------------------------------------- */

/*
 * Whether @addr now belongs to an allocation other than @id. Returns false if @addr is not found:
 * after cuMemFreeAsync() memory of a pool is not found, but is usable until the stream reaches the
 * free.
 */
static bool is_others(enum side side, CUdeviceptr addr, unsigned long long id)
{
	struct alloc_info info;

	return side == SIDE_GPU && alloc_find(addr, &info) && info.id != id;
}

static CUresult move_later(const struct job *j)
{
	if (is_others(j->to, j->t.dst, j->to_id) || is_others(j->from, j->t.src, j->from_id))
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	return move(j);
}

/* If the move returns CUDA_ERROR_INVALID_VALUE, the memory was freed after the checks. */
static CUresult run(struct work *w, CUresult error)
{
	CUresult err = error ? CUDA_SUCCESS : move_later((struct job *)w);

	if (err == CUDA_ERROR_INVALID_VALUE)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	return err == CUDA_ERROR_NOT_READY ? CUDA_ERROR_LAUNCH_FAILED : err;
}

static void finish(struct work *w)
{
	struct job *j = (struct job *)w;

	free(j->staged);
	free(j);
}

/* Copies the source, because the program may change it after the call has returned. */
static CUresult stage(struct job *j)
{
	struct transfer *t = &j->t;

	j->staged = malloc(t->rows * t->width);
	if (!j->staged)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t row = 0; row < t->rows; row++)
		memcpy((char *)j->staged + row * t->width, (char *)(uintptr_t)t->src + row * t->src_pitch, t->width);
	t->src = (uintptr_t)j->staged;
	t->src_pitch = t->width;
	return CUDA_SUCCESS;
}

static CUresult enqueue(CUstream stream, unsigned int flags, const struct job *looked_at)
{
	struct job *j = malloc(sizeof(*j));
	CUresult err = CUDA_SUCCESS;

	if (!j)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*j = *looked_at;
	j->work = (struct work){ .run = run, .finish = finish, .delayed = true };
	if (!(flags & TRANSFER_ASYNC)) {
		j->work.moves[0] = j->to_id;
		j->work.moves[1] = j->from_id;
	}
	if (!j->t.elem && j->from == SIDE_PAGEABLE)
		err = stage(j);
	if (!err)
		return stream_enqueue(stream, &j->work);
	free(j);
	return err;
}

static CUresult do_now(CUstream stream, const struct job *j)
{
	CUresult err = stream_reach(stream);

	return err ? err : move(j);
}

/* Whether the call returns before the transfer is done. */
static bool is_async(const struct job *j, unsigned int flags)
{
	const bool gpu_only = j->to == SIDE_GPU && (j->t.elem || j->from == SIDE_GPU);

	if (flags & TRANSFER_ASYNC)
		return j->to == SIDE_GPU || (j->to == SIDE_LOCKED && (j->t.elem || j->from != SIDE_PAGEABLE));
	return gpu_only && !j->synchronous;
}

static void settle_side(CUdeviceptr addr, unsigned long long id)
{
	struct alloc_info info;

	if (id && alloc_find(addr, &info) && info.id == id && info.sync_memops)
		engine_settle(id);
}

/* Another thread may have set SYNC_MEMOPS after the check, without waiting for this work: wait here. */
static CUresult enqueue_and_look_again(CUstream stream, unsigned int flags, const struct job *j)
{
	CUresult err = enqueue(stream, flags, j);

	if (err || flags & TRANSFER_ASYNC)
		return err;
	settle_side(j->t.dst, j->to_id);
	settle_side(j->t.src, j->from_id);
	return CUDA_SUCCESS;
}

static CUresult transfer_in(const struct CUctx_st *ctx, CUstream stream, unsigned int flags, const struct transfer *t)
{
	struct job j = { .t = *t };
	CUresult err = look(&j, flags);

	if (err)
		return err;
	j.synchronous |= ctx->flags & CU_CTX_SYNC_MEMOPS;
	return is_async(&j, flags) ? enqueue_and_look_again(stream, flags, &j) : do_now(stream, &j);
}

/* The reference to the stream keeps the context and its memory until stream_put(). */
CUresult transfer(CUstream stream, unsigned int flags, const struct transfer *t)
{
	struct CUstream_st *s;
	CUresult err = stream_get(stream, &s);

	if (err)
		return err;
	if (t->width && t->rows)
		err = transfer_in(s->engine->ctx, stream, flags, t);
	stream_put(s);
	return err;
}

CUresult transfer_1d(CUstream stream, unsigned int flags, CUdeviceptr dst, CUdeviceptr src, size_t length)
{
	return transfer(stream, flags, &(struct transfer){ .dst = dst, .src = src, .width = length, .rows = 1 });
}
