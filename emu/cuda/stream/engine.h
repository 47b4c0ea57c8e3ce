/* SPDX-License-Identifier: MIT */
/*
 * engine: the queued work of a context, and the threads that execute the work. Each stream has a
 * queue. An engine has two threads, started on demand: one does the GPU's work, the other calls
 * functions of the program. If such a function blocks, GPU work of other streams goes on.
 *
 * Order: a stream executes its work in order. The NULL stream waits for work queued earlier in
 * blocking streams, and vice versa. Marks order work of any streams; events are made of marks.
 *
 * The first error of asynchronous work stays with the context until the context ends, as in
 * NVIDIA's driver. All calls that wait for work or queue work return this error.
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
 * @refs: references of the event, of the work that sets the mark, and of work and threads that wait
 * @done: all work before the mark is done
 * @time: monotonic time when @done was set, in ns
 */
struct mark {
	unsigned int refs;
	bool done;
	uint64_t time;
};

/**
 * struct work - one piece of work, embedded in a structure with the data for @run
 * @run: executes the work in a thread of the engine, no locks held; NULL: the work only orders
 *	other work. If its argument @error is set, earlier work has failed: copies must do nothing
 * @finish: frees the work; called after @run, or if the work is refused. Engine lock held, so @finish
 *	must not call the library
 * @delayed: start the work (a copy or fill) only after EMUGPU_COPY_DELAY_MS
 * @on_host: @run calls a function of the program
 * @moves: ids of the allocations that a copy or fill without Async in its name accesses; 0: none
 * @after: mark to wait for, or NULL
 * @mark: mark to set when done, or NULL
 *
 * The other members are private to the engine.
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
 * struct CUstream_st - a stream: a queue of work; under the engine lock
 * @link: entry in the streams of its engine
 * @queue: unfinished work, oldest first
 * @refs: references of threads (stream_get()); the stream is freed when ended, empty, unreferenced
 * @ended: the handle is no longer valid
 * @per_thread: a stream of CU_STREAM_PER_THREAD
 * @of_thread: if @per_thread, entry in the thread's list (stream.c)
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
 * @started: @thread is valid
 */
struct worker {
	struct engine *engine;
	pthread_t thread;
	bool started;
	bool on_host;
};

/**
 * struct engine - the engine of a context; under the engine lock
 * @link: entry in the list of open engines
 * @ctx: the context
 * @open: the engine accepts work
 * @stop: the threads must end
 * @error: first error of asynchronous work
 * @null: the NULL stream, also in @streams
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

/* engine_setup - called by cuInit(): reads EMUGPU_COPY_DELAY_MS */
void engine_setup(void);

/* One leaf lock for all engines: do not take the library lock (init.h) inside this lock, or vice versa. */
void engine_lock(void);
void engine_unlock(void);

/* ---- neither the engine lock nor the library lock held ------------------------ */

/* engine_open - open the engine of a new or restarted context */
void engine_open(struct engine *e, struct CUctx_st *ctx);

/* engine_close - refuse new work, finish queued work, end threads, streams and events */
void engine_close(struct engine *e);

/* engine_wait - wait until all queued work is finished; returns the engine's error */
CUresult engine_wait(struct engine *e);

/* engine_wait_all - wait until all queued work of all contexts is finished */
void engine_wait_all(void);

/* engine_settle - wait for the queued work, of all contexts, that has allocation @id in its @moves */
void engine_settle(unsigned long long id);

/* engine_calls_host - whether this thread calls the program's functions, which must not call CUDA, for an engine */
bool engine_calls_host(void);

/* ---- engine lock held -------------------------------------------------------- */

/* engine_add - queue @w at the end of @s, or refuse @w and call @w->finish */
CUresult engine_add(struct CUstream_st *s, struct work *w);

/* engine_add_stream - add a new stream to @e and set its id */
void engine_add_stream(struct engine *e, struct CUstream_st *s);

/* engine_end_stream - refuse new work in @s; @s is freed when empty and unreferenced */
void engine_end_stream(struct CUstream_st *s);

/* engine_put_stream - drop a reference, which was taken by incrementing @refs */
void engine_put_stream(struct CUstream_st *s);

/* engine_is_busy - whether @s has unfinished work */
bool engine_is_busy(const struct CUstream_st *s);

/* engine_drain - wait until the queued work of @s is finished; returns the engine's error */
CUresult engine_drain(struct CUstream_st *s);

/* engine_reach - wait for all work that must precede new work in @s; returns the engine's error */
CUresult engine_reach(struct CUstream_st *s);

/* engine_wait_mark - wait until @m is done */
void engine_wait_mark(const struct mark *m);

#endif
