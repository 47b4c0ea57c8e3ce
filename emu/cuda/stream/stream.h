/* SPDX-License-Identifier: MIT */
/*
 * stream: handles of streams. NULL and CU_STREAM_LEGACY stand for the NULL
 * stream of the thread's current context, CU_STREAM_PER_THREAD for the thread's
 * own stream in it. A handle that is none is CUDA_ERROR_INVALID_HANDLE.
 *
 * None of these may be called with the library lock, nor with the engine lock
 * but where it says so.
 */
#ifndef STREAM_H
#define STREAM_H

#include "emu/cuda/context/ctx.h"
#include "engine.h"

/* Numerically smaller is more urgent. The emulated engine keeps the order of queueing anyway. */
enum {
	STREAM_PRIORITY_LEAST = 0,
	STREAM_PRIORITY_GREATEST = -5,
};

/* stream_get - look @handle up; *@out is referenced until stream_put() */
CUresult stream_get(CUstream handle, struct CUstream_st **out);
void stream_put(struct CUstream_st *s);

/* stream_ctx - the context of @handle */
CUresult stream_ctx(CUstream handle, struct CUctx_st **out);

/* stream_enqueue - have @w done in order; its finish() is called even if it is refused, maybe before this returns */
CUresult stream_enqueue(CUstream handle, struct work *w);

/* stream_reach - wait until what was queued in @handle before is finished, for work that the caller then does itself */
CUresult stream_reach(CUstream handle);

/* stream_end_all - at the end of a context; engine lock held */
void stream_end_all(struct engine *e);

/* stream_ptsz - what @handle means to a program built for a default stream per thread */
static inline CUstream stream_ptsz(CUstream handle)
{
	return handle ? handle : CU_STREAM_PER_THREAD;
}

#endif
