// SPDX-License-Identifier: MIT
#include "stream.h"

#include "emu/cuda/export.h"
#include "emu/cuda/context/init.h"
#include "emu/cuda/context/set.h"
#include "emu/cuda/variant.h"

#include <stdlib.h>

LIST_HEAD(stream_list, CUstream_st);

/* All streams that the program has created and not destroyed; under the engine lock. */
static struct set handles;

/*
 * Key of a thread's list of its own streams (CU_STREAM_PER_THREAD), one per context; the list is
 * under the engine lock. thread_ends() ends these streams. A later destructor may create another
 * stream, which stays until its context ends. So the list, in heap memory, may outlive the thread.
 */
static pthread_key_t own_key;
static bool has_own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void end_own(struct CUstream_st *s)
{
	LIST_REMOVE(s, of_thread);
	engine_end_stream(s);
}

/*
 * Does nothing in a child of fork(). There the lock may be locked forever, because the thread that
 * holds the lock exists only in the parent.
 */
static void thread_ends(void *list)
{
	struct stream_list *streams = list;

	if (lib_ready())
		return;
	engine_lock();
	while (!LIST_EMPTY(streams))
		end_own(LIST_FIRST(streams));
	engine_unlock();
	free(streams);
}

static void make_key(void)
{
	has_own_key = !pthread_key_create(&own_key, thread_ends);
}

static struct stream_list *new_list(void)
{
	struct stream_list *list = calloc(1, sizeof(*list));

	if (!list || !pthread_setspecific(own_key, list))
		return list;
	free(list);
	return NULL;
}

/* The list of the calling thread. NULL: out of memory, or pthread_key_create() has failed */
static struct stream_list *own_streams(void)
{
	struct stream_list *list;

	pthread_once(&own_once, make_key);
	if (!has_own_key)
		return NULL;
	list = pthread_getspecific(own_key);
	return list ? list : new_list();
}

static struct CUstream_st *find_own(const struct stream_list *own, const struct engine *e)
{
	struct CUstream_st *s;

	LIST_FOREACH(s, own, of_thread)
		if (s->engine == e)
			return s;
	return NULL;
}

static struct CUstream_st *add_own(struct stream_list *own, struct engine *e)
{
	struct CUstream_st *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->per_thread = true;
	LIST_INSERT_HEAD(own, s, of_thread);
	engine_add_stream(e, s);
	return s;
}

static struct CUstream_st *get_own(struct engine *e)
{
	struct stream_list *own = own_streams();
	struct CUstream_st *s = own ? find_own(own, e) : NULL;

	return s || !own || !e->open ? s : add_own(own, e);
}

/* Looks up a default stream, which needs a current context. */
static CUresult get_default(CUstream handle, struct CUstream_st **out)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	engine_lock();
	*out = handle == CU_STREAM_PER_THREAD ? get_own(&ctx->engine) : &ctx->engine.null;
	if (*out && ctx->engine.open)
		(*out)->refs++;
	else
		err = ctx->engine.open ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_CONTEXT_IS_DESTROYED;
	engine_unlock();
	return err;
}

static CUresult get_created(CUstream handle, struct CUstream_st **out)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	engine_lock();
	if (set_has(&handles, handle))
		handle->refs++;
	else
		err = CUDA_ERROR_INVALID_HANDLE;
	engine_unlock();
	*out = handle;
	return err;
}

CUresult stream_get(CUstream handle, struct CUstream_st **out)
{
	if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
		return get_default(handle, out);
	return get_created(handle, out);
}

void stream_put(struct CUstream_st *s)
{
	engine_lock();
	engine_put_stream(s);
	engine_unlock();
}

/* Calls stream_get(), and on success takes the engine lock. unlock_and_put() undoes both. */
static CUresult get_and_lock(CUstream handle, struct CUstream_st **out)
{
	CUresult err = stream_get(handle, out);

	if (!err)
		engine_lock();
	return err;
}

static void unlock_and_put(struct CUstream_st *s)
{
	engine_put_stream(s);
	engine_unlock();
}

CUresult stream_ctx(CUstream handle, struct CUctx_st **out)
{
	struct CUstream_st *s;
	CUresult err = get_and_lock(handle, &s);

	if (err)
		return err;
	*out = s->engine->ctx;
	unlock_and_put(s);
	return CUDA_SUCCESS;
}

static void refuse(struct work *w)
{
	engine_lock();
	w->finish(w);
	engine_unlock();
}

CUresult stream_enqueue(CUstream handle, struct work *w)
{
	struct CUstream_st *s;
	CUresult err = get_and_lock(handle, &s);

	if (err) {
		refuse(w);
		return err;
	}
	err = engine_add(s, w);
	unlock_and_put(s);
	return err;
}

static CUresult wait_with(CUstream handle, CUresult (*wait)(struct CUstream_st *))
{
	struct CUstream_st *s;
	CUresult err = get_and_lock(handle, &s);

	if (err)
		return err;
	err = wait(s);
	unlock_and_put(s);
	return err;
}

CUresult stream_reach(CUstream handle)
{
	return wait_with(handle, engine_reach);
}

static void end_stream(struct CUstream_st *s)
{
	if (s->per_thread) {
		end_own(s);
		return;
	}
	set_remove(&handles, s);
	engine_end_stream(s);
}

void stream_end_all(struct engine *e)
{
	struct CUstream_st *s, *next;

	for (s = LIST_FIRST(&e->streams); s; s = next) {
		next = LIST_NEXT(s, link);
		if (s != &e->null && !s->ended)
			end_stream(s);
	}
}

/* ---- the API ---------------------------------------------------------------------- */

static int clamp(int priority)
{
	if (priority > STREAM_PRIORITY_LEAST)
		return STREAM_PRIORITY_LEAST;
	return priority < STREAM_PRIORITY_GREATEST ? STREAM_PRIORITY_GREATEST : priority;
}

static CUresult add(struct engine *e, struct CUstream_st *s)
{
	CUresult err = CUDA_SUCCESS;

	engine_lock();
	if (!e->open)
		err = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	else if (!set_add(&handles, s))
		err = CUDA_ERROR_OUT_OF_MEMORY;
	else
		engine_add_stream(e, s);
	engine_unlock();
	return err;
}

static CUresult create(struct engine *e, unsigned int flags, int priority, CUstream *out)
{
	struct CUstream_st *s = calloc(1, sizeof(*s));
	CUresult err;

	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->flags = flags;
	s->priority = clamp(priority);
	err = add(e, s);
	if (err)
		free(s);
	else
		*out = s;
	return err;
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	if (!out || flags & ~CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	return create(&ctx->engine, flags, priority, out);
}

CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
	return cuStreamCreateWithPriority(out, flags, STREAM_PRIORITY_LEAST);
}

/* Queued work is still executed. */
CUresult cuStreamDestroy(CUstream handle)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	engine_lock();
	if (set_has(&handles, handle))
		end_stream(handle);
	else
		err = CUDA_ERROR_INVALID_HANDLE;
	engine_unlock();
	return err;
}

CUresult cuStreamSynchronize(CUstream handle)
{
	return wait_with(handle, engine_drain);
}

static CUresult query(struct CUstream_st *s)
{
	if (s->engine->error)
		return s->engine->error;
	return engine_is_busy(s) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream handle)
{
	return wait_with(handle, query);
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *out)
{
	struct CUctx_st *ctx;
	CUresult err = stream_ctx(handle, &ctx);

	if (err)
		return err;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = ctx;
	return CUDA_SUCCESS;
}

/* No stream belongs to a green context. */
CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *out, CUgreenCtx *green)
{
	CUresult err = cuStreamGetCtx(handle, out);

	if (!err && green)
		*green = NULL;
	return err;
}

/* Copies the stream, because another thread may destroy it. Use only members of *@what that never change. */
static CUresult describe(CUstream handle, const void *out, struct CUstream_st *what)
{
	struct CUstream_st *s;
	CUresult err = get_and_lock(handle, &s);

	if (err)
		return err;
	*what = *s;
	unlock_and_put(s);
	return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int *out)
{
	struct CUstream_st s;
	CUresult err = describe(handle, out, &s);

	if (!err)
		*out = s.flags;
	return err;
}

CUresult cuStreamGetPriority(CUstream handle, int *out)
{
	struct CUstream_st s;
	CUresult err = describe(handle, out, &s);

	if (!err)
		*out = s.priority;
	return err;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *out)
{
	struct CUstream_st s;
	CUresult err = describe(handle, out, &s);

	if (!err)
		*out = s.id;
	return err;
}

/* ---- for programs built for a default stream per thread --------------------------- */

CUresult cuStreamSynchronize_ptsz(CUstream handle)
{
	return cuStreamSynchronize(stream_ptsz(handle));
}

CUresult cuStreamQuery_ptsz(CUstream handle)
{
	return cuStreamQuery(stream_ptsz(handle));
}

CUresult cuStreamGetCtx_ptsz(CUstream handle, CUcontext *out)
{
	return cuStreamGetCtx(stream_ptsz(handle), out);
}

CUresult cuStreamGetCtx_v2_ptsz(CUstream handle, CUcontext *out, CUgreenCtx *green)
{
	return cuStreamGetCtx_v2(stream_ptsz(handle), out, green);
}

CUresult cuStreamGetFlags_ptsz(CUstream handle, unsigned int *out)
{
	return cuStreamGetFlags(stream_ptsz(handle), out);
}

CUresult cuStreamGetPriority_ptsz(CUstream handle, int *out)
{
	return cuStreamGetPriority(stream_ptsz(handle), out);
}

CUresult cuStreamGetId_ptsz(CUstream handle, unsigned long long *out)
{
	return cuStreamGetId(stream_ptsz(handle), out);
}

#undef cuStreamDestroy
ALIAS(cuStreamDestroy, cuStreamDestroy_v2);
