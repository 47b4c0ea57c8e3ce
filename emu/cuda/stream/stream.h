/* SPDX-License-Identifier: MIT */
/*
 * stream: handles of streams. NULL and CU_STREAM_LEGACY stand for the NULL stream of the thread's
 * current context. CU_STREAM_PER_THREAD stands for the thread's own stream in this context. With an
 * invalid handle, these calls return CUDA_ERROR_INVALID_HANDLE.
 *
 * Hold neither the library lock nor the engine lock in these calls, unless stated otherwise.
 */
#ifndef STREAM_H
#define STREAM_H

#include "emu/cuda/context/ctx.h"
#include "engine.h"

/* A smaller number is a higher priority. The emulated engine ignores priorities and keeps the queueing order. */
enum {
	STREAM_PRIORITY_LEAST = 0,
	STREAM_PRIORITY_GREATEST = -5,
};

/* stream_get - look @handle up; *@out is referenced until stream_put() */
CUresult stream_get(CUstream handle, struct CUstream_st **out);
void stream_put(struct CUstream_st *s);

/* stream_ctx - the context of @handle */
CUresult stream_ctx(CUstream handle, struct CUctx_st **out);

/* stream_enqueue - queue @w; @w->finish is called in any case, perhaps before this call returns */
CUresult stream_enqueue(CUstream handle, struct work *w);

/* stream_reach - wait for all work that must precede new work in @handle; the caller then does the new work */
CUresult stream_reach(CUstream handle);

/* stream_end_all - end all streams of @e except the NULL stream; engine lock held */
void stream_end_all(struct engine *e);

/* stream_ptsz - the meaning of @handle in a program built for a default stream per thread */
static inline CUstream stream_ptsz(CUstream handle)
{
	return handle ? handle : CU_STREAM_PER_THREAD;
}

#endif
