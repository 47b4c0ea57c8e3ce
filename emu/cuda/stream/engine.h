/* SPDX-License-Identifier: MIT */
/*
 * engine: the work a context has still to do, and who does it. Work lies in
 * the queues of streams. Two threads do it, started by the first of their
 * kind and asleep when there is none: one does the GPU's and one calls the
 * program's functions, which may block and must hold up only their stream.
 *
 * Order: the work of a stream is done one by one. The NULL stream and the
 * blocking streams wait for what was queued before in the other. Marks, which
 * events are made of, order any two streams.
 *
 * The first failure of asynchronous work stays with the context until its end,
 * as on the real driver: whoever waits for work or queues some is told.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct engine;

/**
 * struct mark - a place in the order of work; under the engine lock
 * @refs: its event, the work that reaches it and the work that waits for it
 * @done: all before it is
 * @time: when, in ns
 */
struct mark {
	unsigned int refs;
	bool done;
	uint64_t time;
};

/**
 * struct work - one piece, embedded in what @run needs
 * @run: does it, without locks, in a thread of the engine; NULL: there is only order to keep. @error: earlier work
 *	of the context has failed, so what the GPU did should not be done any more
 * @finish: afterwards, or when the work is refused; frees it. Engine lock held: no call of the library
 * @delayed: moves bytes: is held back for EMUGPU_COPY_DELAY_MS, to show that it is asynchronous
 * @on_host: @run calls a function of the program
 * @moves: ids of the allocations whose bytes it moves for a call that is not Async; 0: none
 * @after: also wait until this is done, or NULL
 * @mark: is done with it, or NULL
 *
 * The rest is the engine's.
 */
struct work {
	CUresult (*run)(struct work *w, CUresult error);
	void (*finish)(struct work *w);
	bool delayed;
	bool on_host;
	unsigned long long moves[2];
	struct mark *after;
	struct mark *mark;

	bool running;
	uint64_t number;
	uint64_t due;
	TAILQ_ENTRY(work) link;
};

/**
 * struct CUstream_st - a queue; under the engine lock
 * @link: among the streams of its engine
 * @engine: whose
 * @queue: what is not finished, the oldest first
 * @refs: who looks at it without the lock; it goes when it @ended, is empty and has none
 * @ended: its handle is no longer valid
 * @of_thread: among those that a thread has as its CU_STREAM_PER_THREAD, if @per_thread
 */
struct CUstream_st {
	LIST_ENTRY(CUstream_st) link;
	struct engine *engine;
	TAILQ_HEAD(, work) queue;
	unsigned int refs;
	bool ended;
	bool per_thread;
	LIST_ENTRY(CUstream_st) of_thread;
	unsigned int flags;
	int priority;
	unsigned long long id;
};

/**
 * struct worker - a thread of an engine
 * @started: there is one
 */
struct worker {
	struct engine *engine;
	pthread_t thread;
	bool started;
	bool on_host;
};

/**
 * struct engine - of a context; under the engine lock
 * @link: among those that are not closed
 * @ctx: the context
 * @open: takes work
 * @stop: the threads are to end
 * @error: first failure of work
 * @null: the NULL stream, which is in @streams too
 */
struct engine {
	LIST_ENTRY(engine) link;
	struct CUctx_st *ctx;
	bool open;
	bool stop;
	CUresult error;
	struct CUstream_st null;
	LIST_HEAD(, CUstream_st) streams;
	LIST_HEAD(, CUevent_st) events;
	struct worker gpu;
	struct worker host;
};

/* engine_setup - at cuInit(): reads EMUGPU_COPY_DELAY_MS */
void engine_setup(void);

/* The lock of all engines. A leaf, like the library lock; neither is taken inside the other. */
void engine_lock(void);
void engine_unlock(void);

/* engine_open - for a new context, or one that is new again */
void engine_open(struct engine *e, struct CUctx_st *ctx);

/* engine_close - take no more work, do what is queued, end threads, streams and events; none of the locks held */
void engine_close(struct engine *e);

/* engine_wait - until all work queued before is finished; the engine's error. None of the locks held */
CUresult engine_wait(struct engine *e);

/* engine_wait_all - until all work queued before in any context is finished. None of the locks held */
void engine_wait_all(void);

/* engine_settle - until no work queued before, in any context, @moves bytes of allocation @id. None of the locks held */
void engine_settle(unsigned long long id);

/* engine_calls_host - this is a function of the program called by an engine: it must call no CUDA function */
bool engine_calls_host(void);

/* ---- engine lock held -------------------------------------------------------- */

/* engine_add - queue @w at the end of @s, and have it finished whatever comes */
CUresult engine_add(struct CUstream_st *s, struct work *w);

/* engine_add_stream - a new stream of @e gets its number and its place */
void engine_add_stream(struct engine *e, struct CUstream_st *s);

/* engine_end_stream - @s takes no more work; it goes once it is empty and nobody looks at it */
void engine_end_stream(struct CUstream_st *s);

/* engine_put_stream - drop a reference that was taken by adding to @refs */
void engine_put_stream(struct CUstream_st *s);

/* engine_is_busy - what was queued in @s is not finished */
bool engine_is_busy(const struct CUstream_st *s);

/* engine_drain - wait until @s is not busy with what was queued before; the engine's error */
CUresult engine_drain(struct CUstream_st *s);

/* engine_reach - wait until work that would be queued in @s now could begin; the engine's error */
CUresult engine_reach(struct CUstream_st *s);

/* engine_wait_mark - wait until @m is done */
void engine_wait_mark(const struct mark *m);

#endif
