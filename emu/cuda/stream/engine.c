// SPDX-License-Identifier: MIT
#include "engine.h"

#include "event.h"
#include "stream.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

/*
 * One lock and one condition variable for all engines: an event of one context may order work of
 * another context. Each change is broadcast, and each waiter checks its condition again.
 */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static LIST_HEAD(, engine) engines = LIST_HEAD_INITIALIZER(engines);
static uint64_t last_number;
static unsigned long long last_stream;
static uint64_t delay;

static __thread bool calls_host;

void engine_setup(void)
{
	const char *text = getenv("EMUGPU_COPY_DELAY_MS");

	delay = text ? strtoul(text, NULL, 10) * NS_PER_MS : 0;
}

void engine_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void engine_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

bool engine_calls_host(void)
{
	return calls_host;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Disables cancellation: a thread cancelled here would never release the engine lock and its callers' locks. */
static void wait_change(void)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_cond_wait(&changed, &mutex);
	pthread_setcancelstate(old, NULL);
}

static void wait_change_until(uint64_t due)
{
	const struct timespec t = { .tv_sec = due / NS_PER_S, .tv_nsec = due % NS_PER_S };

	if (due == UINT64_MAX)
		wait_change();
	else
		pthread_cond_clockwait(&changed, &mutex, CLOCK_MONOTONIC, &t);
}

/* ---- order -------------------------------------------------------------------- */

/* Whether @s has unfinished work older than @number. */
static bool pending(const struct CUstream_st *s, uint64_t number)
{
	const struct work *w = TAILQ_FIRST(&s->queue);

	return w && w->number < number;
}

static bool is_blocking(const struct CUstream_st *s)
{
	return !(s->flags & CU_STREAM_NON_BLOCKING);
}

static bool blocking_pending(const struct engine *e, uint64_t number)
{
	const struct CUstream_st *s;

	LIST_FOREACH(s, &e->streams, link)
		if (is_blocking(s) && s != &e->null && pending(s, number))
			return true;
	return false;
}

static bool any_pending(const struct engine *e, uint64_t number)
{
	const struct CUstream_st *s;

	LIST_FOREACH(s, &e->streams, link)
		if (pending(s, number))
			return true;
	return false;
}

/*
 * Whether work @number in @s must wait for other streams. Work in the NULL stream waits for
 * blocking streams; work in a blocking stream waits for the NULL stream.
 */
static bool is_fenced(const struct CUstream_st *s, uint64_t number)
{
	if (s == &s->engine->null)
		return blocking_pending(s->engine, number);
	return is_blocking(s) && pending(&s->engine->null, number);
}

static bool is_ready(const struct CUstream_st *s, const struct work *w)
{
	return !w->running && !is_fenced(s, w->number) && (!w->after || w->after->done);
}

/* ---- threads ------------------------------------------------------------------- */

/* Returns the stream with the oldest work that @worker can do now; if NULL, *@due is the time of the next try. */
static struct CUstream_st *pick(const struct worker *worker, uint64_t *due)
{
	struct CUstream_st *s, *best = NULL;
	uint64_t time = now();

	*due = UINT64_MAX;
	LIST_FOREACH(s, &worker->engine->streams, link) {
		const struct work *w = TAILQ_FIRST(&s->queue);

		if (!w || w->on_host != worker->on_host || !is_ready(s, w))
			continue;
		if (w->due > time)
			*due = w->due < *due ? w->due : *due;
		else if (!best || w->number < TAILQ_FIRST(&best->queue)->number)
			best = s;
	}
	return best;
}

static CUresult run(struct work *w, CUresult error)
{
	CUresult err;

	if (!w->run)
		return CUDA_SUCCESS;
	w->running = true;
	engine_unlock();
	err = w->run(w, error);
	engine_lock();
	return err;
}

static void collect(struct CUstream_st *s)
{
	if (!s->ended || s->refs || !TAILQ_EMPTY(&s->queue))
		return;
	LIST_REMOVE(s, link);
	free(s);
}

static void perform(struct CUstream_st *s)
{
	struct work *w = TAILQ_FIRST(&s->queue);
	struct engine *e = s->engine;
	CUresult err = run(w, e->error);

	if (!e->error)
		e->error = err;
	TAILQ_REMOVE(&s->queue, w, link);
	if (w->mark) {
		w->mark->time = now();
		w->mark->done = true;
	}
	w->finish(w);
	collect(s);
	pthread_cond_broadcast(&changed);
}

static void *work_on(void *arg)
{
	const struct worker *worker = arg;
	struct CUstream_st *s;
	uint64_t due;

	calls_host = worker->on_host;
	engine_lock();
	while (!worker->engine->stop) {
		s = pick(worker, &due);
		if (s)
			perform(s);
		else
			wait_change_until(due);
	}
	engine_unlock();
	return NULL;
}

/* Engine threads block all signals except faults, which a function of the program may cause. */
static void fill_signals(sigset_t *set)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

	sigfillset(set);
	for (unsigned int i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(set, faults[i]);
}

static bool start(struct worker *worker)
{
	sigset_t most, old;

	if (worker->started)
		return true;
	fill_signals(&most);
	pthread_sigmask(SIG_SETMASK, &most, &old);
	worker->started = !pthread_create(&worker->thread, NULL, work_on, worker);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return worker->started;
}

/* Disables cancellation, as in wait_change(): the caller holds locks. */
static void end(struct worker *worker)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	if (worker->started)
		pthread_join(worker->thread, NULL);
	pthread_setcancelstate(old, NULL);
	worker->started = false;
}

/* ---- streams --------------------------------------------------------------------- */

void engine_add_stream(struct engine *e, struct CUstream_st *s)
{
	TAILQ_INIT(&s->queue);
	s->engine = e;
	s->id = ++last_stream;
	LIST_INSERT_HEAD(&e->streams, s, link);
}

void engine_end_stream(struct CUstream_st *s)
{
	s->ended = true;
	collect(s);
}

void engine_put_stream(struct CUstream_st *s)
{
	s->refs--;
	collect(s);
	pthread_cond_broadcast(&changed);
}

static CUresult refusal(struct CUstream_st *s, const struct work *w)
{
	struct engine *e = s->engine;

	if (!e->open)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (s->ended)
		return CUDA_ERROR_INVALID_HANDLE;
	if (e->error)
		return e->error;
	return start(w->on_host ? &e->host : &e->gpu) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult engine_add(struct CUstream_st *s, struct work *w)
{
	CUresult err = refusal(s, w);

	if (err) {
		w->finish(w);
		return err;
	}
	w->number = ++last_number;
	w->due = w->delayed && delay ? now() + delay : 0;
	TAILQ_INSERT_TAIL(&s->queue, w, link);
	pthread_cond_broadcast(&changed);
	return CUDA_SUCCESS;
}

/* The NULL stream is also busy while a blocking stream is busy. */
static bool is_busy(const struct CUstream_st *s, uint64_t number)
{
	return pending(s, number) || (s == &s->engine->null && is_fenced(s, number));
}

bool engine_is_busy(const struct CUstream_st *s)
{
	return is_busy(s, UINT64_MAX);
}

CUresult engine_drain(struct CUstream_st *s)
{
	const uint64_t number = last_number + 1;

	while (is_busy(s, number))
		wait_change();
	return s->engine->error;
}

CUresult engine_reach(struct CUstream_st *s)
{
	const uint64_t number = last_number + 1;

	while (pending(s, number) || is_fenced(s, number))
		wait_change();
	return s->engine->error;
}

void engine_wait_mark(const struct mark *m)
{
	while (!m->done)
		wait_change();
}

/* ---- the engine ------------------------------------------------------------------ */

static void drain_all(struct engine *e)
{
	const uint64_t number = last_number + 1;

	while (any_pending(e, number))
		wait_change();
}

CUresult engine_wait(struct engine *e)
{
	CUresult err;

	engine_lock();
	drain_all(e);
	err = e->error;
	engine_unlock();
	return err;
}

/* Engines may open and close while engine_wait_all() waits; all work of new engines has higher numbers. */
static bool any_engine_pending(uint64_t number)
{
	const struct engine *e;

	LIST_FOREACH(e, &engines, link)
		if (any_pending(e, number))
			return true;
	return false;
}

void engine_wait_all(void)
{
	uint64_t number;

	engine_lock();
	number = last_number + 1;
	while (any_engine_pending(number))
		wait_change();
	engine_unlock();
}

static bool moves(const struct work *w, unsigned long long id)
{
	return w->moves[0] == id || w->moves[1] == id;
}

static bool stream_moves(const struct CUstream_st *s, unsigned long long id, uint64_t number)
{
	const struct work *w;

	TAILQ_FOREACH(w, &s->queue, link)
		if (w->number < number && moves(w, id))
			return true;
	return false;
}

static bool any_engine_moves(unsigned long long id, uint64_t number)
{
	const struct CUstream_st *s;
	const struct engine *e;

	LIST_FOREACH(e, &engines, link)
		LIST_FOREACH(s, &e->streams, link)
			if (stream_moves(s, id, number))
				return true;
	return false;
}

void engine_settle(unsigned long long id)
{
	uint64_t number;

	engine_lock();
	number = last_number + 1;
	while (any_engine_moves(id, number))
		wait_change();
	engine_unlock();
}

void engine_open(struct engine *e, struct CUctx_st *ctx)
{
	engine_lock();
	*e = (struct engine){ .ctx = ctx, .open = true };
	e->gpu = (struct worker){ .engine = e };
	e->host = (struct worker){ .engine = e, .on_host = true };
	engine_add_stream(e, &e->null);
	LIST_INSERT_HEAD(&engines, e, link);
	engine_unlock();
}

/*
 * Whether threads still have references to streams. The threads drop the references soon, because
 * the work they wait for is finished by now, or their call is about to be refused.
 */
static bool is_held(const struct engine *e)
{
	return e->null.refs || LIST_FIRST(&e->streams) != &e->null || LIST_NEXT(&e->null, link);
}

void engine_close(struct engine *e)
{
	engine_lock();
	e->open = false;
	drain_all(e);
	e->stop = true;
	pthread_cond_broadcast(&changed);
	engine_unlock();
	end(&e->gpu);
	end(&e->host);
	engine_lock();
	event_end_all(e);
	stream_end_all(e);
	while (is_held(e))
		wait_change();
	LIST_REMOVE(e, link);
	engine_unlock();
}
