// SPDX-License-Identifier: MIT
/*
 * Many threads use the cache while another frees and allocates the memory
 * under them. cmocka's asserts are for one thread; the threads count what
 * went wrong.
 */
#include <errno.h>
#include "mock_memory.h"
#include "random.h"
#include "unit.h"

enum {
	THREADS = 4,
	ROUNDS = 4000,
	SPAN = 64,		/* pages in play */
};

struct worker {
	pthread_t thread;
	uint64_t rnd;
	unsigned int got;
};

static struct mock_memory mem;
static struct pp_cache *cache;
static atomic_int wrong;

static void expect(bool ok)
{
	if (!ok)
		atomic_fetch_add(&wrong, 1);
}

static uint64_t owner_of(unsigned int page)
{
	uint64_t owner;

	pthread_mutex_lock(&mem.lock);
	owner = mem.owner[page];
	pthread_mutex_unlock(&mem.lock);
	return owner;
}

/* G1: registered no earlier than by who owned it before the get. */
static void check(const struct pp_cache_entry *e, unsigned int page,
		  unsigned int count, uint64_t owner)
{
	const struct mock_reg *reg = e->reg;

	expect(e->addr <= (uintptr_t)mock_at(page));
	expect((uintptr_t)mock_at(page + count) <= e->addr + e->length);
	expect(reg->unpinned == 0);
	expect(reg->owner[page] >= owner);
}

static void get_and_put(struct worker *w)
{
	unsigned int page = random_below(&w->rnd, SPAN);
	unsigned int count = 1 + random_below(&w->rnd, 8);
	uint64_t owner = owner_of(page);
	const struct pp_cache_entry *e;
	int ret;

	ret = pp_cache_get(cache, mock_at(page), count * MOCK_PAGE, &e, NULL);
	if (ret) {
		expect(ret == -ENOMEM || ret == -EINVAL || ret == -ESTALE);
		return;
	}
	w->got++;
	check(e, page, count, owner);
	if (!random_below(&w->rnd, 8))
		sched_yield();
	pp_cache_put(cache, e);
}

static void *use(void *arg)
{
	struct worker *w = arg;
	int i;

	for (i = 0; i < ROUNDS; i++)
		get_and_put(w);
	return NULL;
}

static void *disturb(void *arg)
{
	struct worker *w = arg;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		unsigned int page = random_below(&w->rnd, SPAN);

		mock_alloc(&mem, page, 1 + random_below(&w->rnd, 8));
		if (!random_below(&w->rnd, 4))
			pp_cache_invalidate(cache, mock_at(page), MOCK_PAGE);
		if (!random_below(&w->rnd, 64))
			pp_cache_flush(cache);
		sched_yield();
	}
	return NULL;
}

static void run(const struct pp_cache_ops *ops)
{
	const struct pp_cache_attr attr = { .max_bytes = 40 * MOCK_PAGE };
	struct worker w[THREADS + 1];
	uint64_t seed = random_seed();
	int i;

	mock_memory_init(&mem);
	mem.capacity = 60 * MOCK_PAGE;
	mock_alloc(&mem, 0, MOCK_PAGES);
	assert_int_equal(pp_cache_create(ops, &mem, &attr, &cache), 0);
	for (i = 0; i <= THREADS; i++) {
		w[i] = (struct worker){ .rnd = seed + i };
		pthread_create(&w[i].thread, NULL, i ? use : disturb, &w[i]);
	}
	for (i = 0; i <= THREADS; i++)
		pthread_join(w[i].thread, NULL);
	assert_true(w[1].got > ROUNDS / 4);
	pp_cache_destroy(cache);
}

static void check_end(void)
{
	const struct mock_reg *r;

	assert_int_equal(atomic_load(&wrong), 0);
	assert_true(LIST_EMPTY(&mem.live));
	assert_int_equal(mem.pins, mem.unpins);
	LIST_FOREACH(r, &mem.dead, link)
		assert_int_equal(r->unpinned, 1);
	mock_memory_destroy(&mem);
}

static void memory_that_merges(void **state)
{
	(void)state;
	run(&mock_host_ops);
	check_end();
}

static void memory_in_allocations(void **state)
{
	(void)state;
	run(&mock_gpu_ops);
	check_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_that_merges),
		cmocka_unit_test(memory_in_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
