// SPDX-License-Identifier: MIT
#include "event.h"

#include "emu/cuda/export.h"
#include "emu/cuda/context/init.h"
#include "emu/cuda/context/set.h"
#include "stream.h"
#include "emu/cuda/variant.h"

#include <stdlib.h>

#define NS_PER_MS 1e6f

/**
 * struct CUevent_st - an event; under the engine lock
 * @link: entry in the events of its engine
 * @mark: the mark recorded last, or NULL
 */
struct CUevent_st {
	LIST_ENTRY(CUevent_st) link;
	struct engine *engine;
	unsigned int flags;
	struct mark *mark;
};

static struct set handles;

static struct mark *hold(struct mark *m)
{
	m->refs++;
	return m;
}

static void drop(struct mark *m)
{
	if (m && !--m->refs)
		free(m);
}

static void finish(struct work *w)
{
	drop(w->after);
	drop(w->mark);
	free(w);
}

static void end(struct CUevent_st *ev)
{
	set_remove(&handles, ev);
	LIST_REMOVE(ev, link);
	drop(ev->mark);
	free(ev);
}

void event_end_all(struct engine *e)
{
	while (!LIST_EMPTY(&e->events))
		end(LIST_FIRST(&e->events));
}

/* Returns with the engine lock held on success. */
static CUresult lock(CUevent handle)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	engine_lock();
	if (set_has(&handles, handle))
		return CUDA_SUCCESS;
	engine_unlock();
	return CUDA_ERROR_INVALID_HANDLE;
}

/* ---- life -------------------------------------------------------------------------- */

static bool valid_flags(unsigned int flags)
{
	const unsigned int known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

	return !(flags & ~known) && (!(flags & CU_EVENT_INTERPROCESS) || flags & CU_EVENT_DISABLE_TIMING);
}

static CUresult add(struct CUevent_st *ev)
{
	CUresult err = CUDA_SUCCESS;

	engine_lock();
	if (!ev->engine->open)
		err = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	else if (!set_add(&handles, ev))
		err = CUDA_ERROR_OUT_OF_MEMORY;
	else
		LIST_INSERT_HEAD(&ev->engine->events, ev, link);
	engine_unlock();
	return err;
}

CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
	struct CUevent_st *ev;
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	if (!out || !valid_flags(flags))
		return CUDA_ERROR_INVALID_VALUE;
	ev = calloc(1, sizeof(*ev));
	if (!ev)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ev->engine = &ctx->engine;
	ev->flags = flags;
	err = add(ev);
	if (err)
		free(ev);
	else
		*out = ev;
	return err;
}

CUresult cuEventDestroy(CUevent handle)
{
	CUresult err = lock(handle);

	if (err)
		return err;
	end(handle);
	engine_unlock();
	return CUDA_SUCCESS;
}

/* ---- recording and waiting in streams -------------------------------------------------- */

static struct work *new_work(void)
{
	struct work *w = calloc(1, sizeof(*w));

	if (w)
		w->finish = finish;
	return w;
}

static struct work *new_record(void)
{
	struct work *w = new_work();

	if (!w)
		return NULL;
	w->mark = calloc(1, sizeof(*w->mark));
	if (w->mark) {
		hold(w->mark);
		return w;
	}
	free(w);
	return NULL;
}

static CUresult record(struct CUevent_st *ev, struct CUstream_st *s)
{
	struct work *w;
	struct mark *m;
	CUresult err;

	if (ev->engine != s->engine)
		return CUDA_ERROR_INVALID_HANDLE;
	w = new_record();
	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m = hold(w->mark);
	err = engine_add(s, w);
	if (err) {
		drop(m);
		return err;
	}
	drop(ev->mark);
	ev->mark = m;
	return CUDA_SUCCESS;
}

/* No work is queued for an event that is done already or was never recorded. */
static CUresult wait_for(struct CUevent_st *ev, struct CUstream_st *s)
{
	struct work *w;

	if (!ev->mark || ev->mark->done)
		return CUDA_SUCCESS;
	w = new_work();
	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w->after = hold(ev->mark);
	return engine_add(s, w);
}

static CUresult in_stream(CUevent handle, CUstream stream, bool valid,
			  CUresult (*what)(struct CUevent_st *, struct CUstream_st *))
{
	struct CUstream_st *s;
	CUresult err = stream_get(stream, &s);

	if (err)
		return err;
	err = valid ? lock(handle) : CUDA_ERROR_INVALID_VALUE;
	if (!err) {
		err = what(handle, s);
		engine_unlock();
	}
	stream_put(s);
	return err;
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned int flags)
{
	return in_stream(handle, stream, !(flags & ~CU_EVENT_RECORD_EXTERNAL), record);
}

CUresult cuEventRecord(CUevent handle, CUstream stream)
{
	return in_stream(handle, stream, true, record);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned int flags)
{
	return in_stream(handle, stream, !(flags & ~CU_EVENT_WAIT_EXTERNAL), wait_for);
}

/* ---- queries ----------------------------------------------------------------------------- */

static bool is_done(const struct CUevent_st *ev)
{
	return !ev->mark || ev->mark->done;
}

CUresult cuEventQuery(CUevent handle)
{
	CUresult err = lock(handle);

	if (err)
		return err;
	err = handle->engine->error;
	if (!err && !is_done(handle))
		err = CUDA_ERROR_NOT_READY;
	engine_unlock();
	return err;
}

/* The event may be destroyed during the wait. Our reference keeps the mark; engines are never freed. */
static CUresult wait(struct CUevent_st *ev)
{
	const struct engine *e = ev->engine;
	struct mark *m;

	if (!is_done(ev)) {
		m = hold(ev->mark);
		engine_wait_mark(m);
		drop(m);
	}
	return e->error;
}

CUresult cuEventSynchronize(CUevent handle)
{
	CUresult err = lock(handle);

	if (err)
		return err;
	err = wait(handle);
	engine_unlock();
	return err;
}

static bool has_time(const struct CUevent_st *ev)
{
	return ev->mark && !(ev->flags & CU_EVENT_DISABLE_TIMING);
}

static CUresult elapsed(float *ms, const struct CUevent_st *from, const struct CUevent_st *to)
{
	if (!ms || !has_time(from) || !has_time(to))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!is_done(from) || !is_done(to))
		return CUDA_ERROR_NOT_READY;
	*ms = (int64_t)(to->mark->time - from->mark->time) / NS_PER_MS;
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	CUresult err = lock(from);

	if (err)
		return err;
	err = set_has(&handles, to) ? elapsed(ms, from, to) : CUDA_ERROR_INVALID_HANDLE;
	engine_unlock();
	return err;
}

CUresult cuEventRecord_ptsz(CUevent handle, CUstream stream)
{
	return cuEventRecord(handle, stream_ptsz(stream));
}

CUresult cuEventRecordWithFlags_ptsz(CUevent handle, CUstream stream, unsigned int flags)
{
	return cuEventRecordWithFlags(handle, stream_ptsz(stream), flags);
}

CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent handle, unsigned int flags)
{
	return cuStreamWaitEvent(stream_ptsz(stream), handle, flags);
}

#undef cuEventDestroy
#undef cuEventElapsedTime
ALIAS(cuEventDestroy, cuEventDestroy_v2);
ALIAS(cuEventElapsedTime, cuEventElapsedTime_v2);
