// SPDX-License-Identifier: MIT
/* The queues of the emulated CUDA: order of the work; no stream waits for ever. */
#include "test/unit/unit.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/cuda/stream/engine.c"
#include "test/unit/random.h"

enum { STREAMS = 5, STEPS = 3000 };

/* Replaces the function of the library: this test has no event handles. */
void event_end_all(struct engine *e)
{
	(void)e;
}

void stream_end_all(struct engine *e)
{
	struct CUstream_st *s, *next;

	for (s = LIST_FIRST(&e->streams); s; s = next) {
		next = LIST_NEXT(s, link);
		if (s != &e->null)
			engine_end_stream(s);
	}
}

/**
 * struct piece - work that records its completion
 * @s: stream of the work
 * @result: result that the work returns
 * @told: error that the engine passed to the work
 * @hold: the work waits for this; NULL: no wait
 * @finished: 1 for the first finished piece, 2 for the next, ...; 0: not finished
 */
struct piece {
	struct work work;
	struct CUstream_st *s;
	CUresult result;
	CUresult told;
	sem_t *hold;
	unsigned int finished;
};

static unsigned int nr_finished;

static CUresult run_piece(struct work *w, CUresult error)
{
	struct piece *p = (struct piece *)w;

	p->told = error;
	if (p->hold)
		sem_wait(p->hold);
	return p->result;
}

static void finish_piece(struct work *w)
{
	((struct piece *)w)->finished = ++nr_finished;
}

static void forget(struct work *w)
{
	(void)w;
}

static struct engine *open_engine(void)
{
	struct engine *e = calloc(1, sizeof(*e));

	nr_finished = 0;
	engine_setup();
	engine_open(e, NULL);
	return e;
}

static void close_engine(struct engine *e)
{
	engine_close(e);
	free(e);
}

static struct CUstream_st *add_stream(struct engine *e, unsigned int flags)
{
	struct CUstream_st *s = calloc(1, sizeof(*s));

	s->flags = flags;
	engine_lock();
	engine_add_stream(e, s);
	engine_unlock();
	return s;
}

static CUresult add(struct CUstream_st *s, struct piece *p)
{
	CUresult err;

	p->s = s;
	p->work.run = run_piece;
	p->work.finish = finish_piece;
	engine_lock();
	err = engine_add(s, &p->work);
	engine_unlock();
	return err;
}

static CUresult drain(struct CUstream_st *s)
{
	CUresult err;

	engine_lock();
	err = engine_drain(s);
	engine_unlock();
	return err;
}

static bool is_finished(const struct piece *p)
{
	bool is;

	engine_lock();
	is = p->finished;
	engine_unlock();
	return is;
}

/* @b was queued after @a. True: @b must also finish after @a. */
static bool must_follow(const struct piece *a, const struct piece *b)
{
	const struct CUstream_st *null = &a->s->engine->null;

	if (a->s == b->s)
		return true;
	return (a->s == null && is_blocking(b->s)) || (b->s == null && is_blocking(a->s));
}

static void test_work_keeps_stream_order(void **state)
{
	struct engine *e = open_engine();
	struct piece *p = calloc(STEPS, sizeof(*p));
	struct CUstream_st *s[STREAMS] = { &e->null };
	uint64_t seed = random_seed();

	(void)state;
	for (int i = 1; i < STREAMS; i++)
		s[i] = add_stream(e, i % 2 ? 0 : CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < STEPS; i++) {
		p[i].work.on_host = !random_below(&seed, 4);
		assert_int_equal(add(s[random_below(&seed, STREAMS)], &p[i]), CUDA_SUCCESS);
	}
	assert_int_equal(engine_wait(e), CUDA_SUCCESS);
	for (int b = 0; b < STEPS; b++) {
		assert_true(p[b].finished);
		for (int a = 0; a < b; a++)
			if (must_follow(&p[a], &p[b]))
				assert_true(p[a].finished < p[b].finished);
	}
	close_engine(e);
	free(p);
}

static void test_held_stream_blocks_no_other(void **state)
{
	struct engine *e = open_engine();
	struct CUstream_st *a = add_stream(e, 0), *b = add_stream(e, 0), *c = add_stream(e, CU_STREAM_NON_BLOCKING);
	struct piece held = { .work.on_host = true }, behind = { 0 }, beside = { 0 }, null = { 0 }, free_one = { 0 };
	sem_t hold;

	(void)state;
	sem_init(&hold, 0, 0);
	held.hold = &hold;
	add(a, &held);
	add(a, &behind);
	add(b, &beside);
	assert_int_equal(drain(b), CUDA_SUCCESS);
	add(&e->null, &null);
	add(c, &free_one);
	assert_int_equal(drain(c), CUDA_SUCCESS);
	assert_true(is_finished(&beside) && is_finished(&free_one));
	assert_false(is_finished(&held) || is_finished(&behind) || is_finished(&null));
	sem_post(&hold);
	assert_int_equal(drain(&e->null), CUDA_SUCCESS);
	assert_true(behind.finished < null.finished);
	close_engine(e);
}

static void test_marks_order_engines(void **state)
{
	struct engine *e = open_engine(), *f = open_engine();
	struct CUstream_st *a = add_stream(e, CU_STREAM_NON_BLOCKING), *b = add_stream(f, CU_STREAM_NON_BLOCKING);
	struct piece held = { .work.on_host = true }, reach = { 0 }, wait = { 0 }, then = { 0 };
	struct mark mark = { 0 };
	sem_t hold;

	(void)state;
	sem_init(&hold, 0, 0);
	held.hold = &hold;
	reach.work.mark = &mark;
	wait.work.after = &mark;
	add(b, &wait);
	add(b, &then);
	add(a, &held);
	add(a, &reach);
	assert_false(is_finished(&wait));
	sem_post(&hold);
	engine_lock();
	engine_wait_mark(&mark);
	engine_unlock();
	assert_int_equal(drain(b), CUDA_SUCCESS);
	assert_true(reach.finished < wait.finished && wait.finished < then.finished);
	close_engine(e);
	close_engine(f);
}

static void *wait_all(void *waited)
{
	engine_wait_all();
	*(atomic_bool *)waited = true;
	return NULL;
}

/* The wait covers all engines, even if an engine ends meanwhile, and no work queued later. */
static void test_wait_all_covers_all_engines(void **state)
{
	struct engine *e = open_engine(), *f = open_engine(), *brief = open_engine();
	struct piece held = { .work.on_host = true }, later = { .work.on_host = true };
	atomic_bool waited = false;
	pthread_t thread;
	sem_t hold, never;

	(void)state;
	sem_init(&hold, 0, 0);
	sem_init(&never, 0, 0);
	held.hold = &hold;
	later.hold = &never;
	add(&f->null, &held);
	assert_int_equal(pthread_create(&thread, NULL, wait_all, &waited), 0);
	usleep(50000);
	close_engine(brief);
	add(&e->null, &later);
	assert_false(waited);
	sem_post(&hold);
	pthread_join(thread, NULL);
	assert_true(is_finished(&held) && !is_finished(&later));
	sem_post(&never);
	close_engine(e);
	close_engine(f);
}

static void test_copies_are_delayed(void **state)
{
	struct piece late[2] = { { .work.delayed = true }, { .work.delayed = true } }, early = { 0 };
	struct CUstream_st *a, *b;
	struct engine *e;
	uint64_t start;

	(void)state;
	setenv("EMUGPU_COPY_DELAY_MS", "100", 1);
	e = open_engine();
	unsetenv("EMUGPU_COPY_DELAY_MS");
	a = add_stream(e, CU_STREAM_NON_BLOCKING);
	b = add_stream(e, CU_STREAM_NON_BLOCKING);
	start = now();
	add(a, &late[0]);
	add(a, &late[1]);
	add(b, &early);
	drain(b);
	assert_true(is_finished(&early) && !is_finished(&late[0]));
	drain(a);
	assert_true(now() - start >= 100 * NS_PER_MS);
	/* The delay of each piece counts from the time of queueing. */
	assert_true(late[1].work.due - late[0].work.due < 100 * NS_PER_MS);
	close_engine(e);
}

static void test_failure_is_sticky(void **state)
{
	struct engine *e = open_engine();
	struct CUstream_st *a = add_stream(e, 0);
	struct piece held = { .work.on_host = true }, bad = { .result = CUDA_ERROR_ILLEGAL_ADDRESS };
	struct piece worse = { .result = CUDA_ERROR_LAUNCH_FAILED }, refused = { 0 };
	sem_t hold;

	(void)state;
	sem_init(&hold, 0, 0);
	held.hold = &hold;
	add(a, &held);
	add(a, &bad);
	add(a, &worse);
	sem_post(&hold);
	assert_int_equal(drain(a), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(worse.told, CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(engine_wait(e), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(add(a, &refused), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_true(refused.finished);
	close_engine(e);
}

static void test_close_finishes_and_refuses(void **state)
{
	struct engine *e = open_engine();
	struct CUstream_st *a = add_stream(e, 0);
	struct piece p[20] = { 0 }, refused = { 0 };

	(void)state;
	for (int i = 0; i < 20; i++) {
		p[i].work.on_host = i % 2;
		add(a, &p[i]);
	}
	engine_close(e);
	assert_int_equal(nr_finished, 20);
	assert_int_equal(add(&e->null, &refused), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_true(refused.finished);
	assert_false(e->gpu.started || e->host.started);
	engine_open(e, NULL);
	refused.finished = 0;
	assert_int_equal(add(&e->null, &refused), CUDA_SUCCESS);
	close_engine(e);
}

static void test_reference_keeps_ended_stream_alive(void **state)
{
	struct engine *e = open_engine();
	struct CUstream_st *a = add_stream(e, 0);
	struct piece p = { .work.on_host = true };
	sem_t hold;

	(void)state;
	sem_init(&hold, 0, 0);
	p.hold = &hold;
	add(a, &p);
	engine_lock();
	a->refs++;
	engine_end_stream(a);
	engine_unlock();
	sem_post(&hold);
	assert_int_equal(engine_wait(e), CUDA_SUCCESS);
	engine_lock();
	assert_ptr_equal(LIST_FIRST(&e->streams), a);
	assert_false(engine_is_busy(a));
	engine_put_stream(a);
	assert_ptr_equal(LIST_FIRST(&e->streams), &e->null);
	engine_unlock();
	close_engine(e);
}

static void *drain_in_thread(void *s)
{
	drain(s);
	pthread_testcancel();
	return NULL;
}

static void test_cancelled_waiter_releases_the_lock(void **state)
{
	struct engine *e = open_engine();
	struct piece held = { .work.on_host = true };
	pthread_t thread;
	void *result;
	sem_t hold;

	(void)state;
	sem_init(&hold, 0, 0);
	held.hold = &hold;
	add(&e->null, &held);
	assert_int_equal(pthread_create(&thread, NULL, drain_in_thread, &e->null), 0);
	usleep(50000);
	assert_int_equal(pthread_cancel(thread), 0);
	sem_post(&hold);
	pthread_join(thread, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(pthread_mutex_trylock(&mutex), 0);
	engine_unlock();
	close_engine(e);
}

static char *page;

static void open_page(int sig)
{
	(void)sig;
	mprotect(page, getpagesize(), PROT_READ | PROT_WRITE);
}

static CUresult write_page(struct work *w, CUresult error)
{
	(void)w;
	*page = 1;
	return error;
}

/* If a thread blocks SIGSEGV, a fault in it ends the process, even with a handler. */
static void test_host_function_gets_own_signals(void **state)
{
	struct engine *e = open_engine();
	struct work w = { .run = write_page, .finish = forget, .on_host = true };
	void (*old)(int);

	(void)state;
	page = mmap(NULL, getpagesize(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	old = signal(SIGSEGV, open_page);
	engine_lock();
	assert_int_equal(engine_add(&e->null, &w), CUDA_SUCCESS);
	engine_unlock();
	assert_int_equal(engine_wait(e), CUDA_SUCCESS);
	signal(SIGSEGV, old);
	assert_int_equal(*page, 1);
	munmap(page, getpagesize());
	close_engine(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_keeps_stream_order),
		cmocka_unit_test(test_held_stream_blocks_no_other),
		cmocka_unit_test(test_marks_order_engines),
		cmocka_unit_test(test_wait_all_covers_all_engines),
		cmocka_unit_test(test_copies_are_delayed),
		cmocka_unit_test(test_failure_is_sticky),
		cmocka_unit_test(test_close_finishes_and_refuses),
		cmocka_unit_test(test_reference_keeps_ended_stream_alive),
		cmocka_unit_test(test_cancelled_waiter_releases_the_lock),
		cmocka_unit_test(test_host_function_gets_own_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
