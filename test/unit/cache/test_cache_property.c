// SPDX-License-Identifier: MIT
/*
 * Random calls on a cache over a model of 48 blocks, each of 4 KiB to 8 GiB. Blocks are freed and
 * allocated again at the same address. After each call:
 * - a returned entry is registered, and its memory is not freed;
 * - no entry in use is unpinned;
 * - idle entries exceed no limit;
 * - the statistics of the cache equal the statistics of the model.
 *
 *	test_cache_property [STEPS]	TEST_SEED=N repeats a run
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include "lib/cache/cache.h"
#include "cache_blocks.h"
#include "test/unit/unit.h"

enum {
	MAX_HELD = 24,
	STEPS = 600000,		/* number of calls for each kind of memory */
	STEPS_PER_CACHE = 20000,
	RECENT = 2 * BLOCKS,
};

static struct pp_cache_attr attr;
static uint64_t steps_per_kind = STEPS;
static const struct pp_cache_entry *held[MAX_HELD];
static struct pp_cache_stats total;

/* ---- gets and puts ----------------------------------------------------- */

static struct reg *reg_of(const struct pp_cache_entry *e)
{
	return e->reg;
}

static void hold(const struct pp_cache_entry *e, unsigned int slot)
{
	struct reg *r = reg_of(e);

	if (!r->holders++) {
		idle--;
		idle_bytes -= r->length;
	}
	held[slot] = e;
}

static void check_entry(const struct pp_cache_entry *e, uint64_t addr, uint64_t length)
{
	const struct reg *r = reg_of(e);

	CHECK(e->addr <= addr && addr + length <= e->addr + e->length);
	CHECK(r->addr == e->addr && r->length == e->length);
	CHECK(r->pinned);
	CHECK(!r->forgotten);
	CHECK(r->word == r->block->word);
	CHECK(is_owned(e->addr, e->length));
}

static void check_error(int ret, uint64_t addr, uint64_t length, bool injected)
{
	if (ret == -ENOMEM)
		CHECK(!idle && (injected || bytes + length > capacity));
	else if (ret == -EPERM)
		CHECK(injected);
	else
		CHECK((ret == -EINVAL || ret == -ESTALE) && !is_owned(addr, length));
}

/* A second get of memory in use must hit, at any limit. */
static void check_hits(const struct pp_cache_entry *held_entry, uint64_t addr, uint64_t length)
{
	const struct pp_cache_entry *e;
	uint64_t pins_before = pins;

	CHECK(!pp_cache_get(cache, (void *)(uintptr_t)addr, length, &e, NULL));
	CHECK(e == held_entry);
	CHECK(pins == pins_before);
	pp_cache_put(cache, e);
}

static void get(uint64_t addr, uint64_t length, unsigned int slot)
{
	const struct pp_cache_entry *e;
	bool injected = fail_count;
	int ret = pp_cache_get(cache, (void *)(uintptr_t)addr, length, &e, NULL);

	if (ret) {
		check_error(ret, addr, length, injected);
		return;
	}
	check_entry(e, addr, length);
	hold(e, slot);
	if (!below(8))
		check_hits(e, addr, length);
}

struct ask {
	uint64_t addr;
	uint64_t length;
};

static struct ask any_range(void)
{
	const struct block *b = &blocks[below(BLOCKS)];
	uint64_t length = random_length(b->length);
	uint64_t addr = b->addr + random_next(&rnd) % (b->length - length + 1);

	if (!below(50))
		length += PAGE;	/* the end may lie beyond the block */
	return (struct ask){ addr, length };
}

/* Get a recent range again in many steps, as programs do. */
static void step_get(void)
{
	static struct ask asks[RECENT];
	struct ask *a = &asks[below(RECENT)];
	unsigned int slot = below(MAX_HELD);

	if (held[slot])
		return;
	if (!a->length || !below(8))
		*a = any_range();
	get(a->addr, a->length, slot);
}

static sem_t ask, done;
static const struct pp_cache_entry *to_put;

static void *put_for_others(void *arg)
{
	(void)arg;
	for (;;) {
		sem_wait(&ask);
		if (!to_put)
			return NULL;
		pp_cache_put(cache, to_put);
		sem_post(&done);
	}
}

static void put(const struct pp_cache_entry *e)
{
	struct reg *r = reg_of(e);

	if (!--r->holders) {
		idle++;
		idle_bytes += r->length;
	}
	if (below(20)) {
		pp_cache_put(cache, e);
		return;
	}
	to_put = e;
	sem_post(&ask);
	sem_wait(&done);
}

static void put_slot(unsigned int slot)
{
	if (held[slot])
		put(held[slot]);
	held[slot] = NULL;
}

static void put_all(void)
{
	unsigned int i;

	for (i = 0; i < MAX_HELD; i++)
		put_slot(i);
}

/* ---- calls other than get ---------------------------------------------- */

static void step_memory(void)
{
	struct block *b = &blocks[below(BLOCKS)];

	if (is_live(b))
		take(b);
	if (below(3))
		give(b);
	if (!is_live(b) && !below(2))
		give(b);
}

static void forget(uint64_t addr, uint64_t length)
{
	unsigned int i;

	for (i = 0; i < MAX_HELD; i++)
		if (held[i] && held[i]->addr < addr + length && addr < held[i]->addr + held[i]->length)
			reg_of(held[i])->forgotten = true;
}

static void check_forgotten(uint64_t addr, uint64_t length)
{
	const struct reg *r;

	SLIST_FOREACH(r, &regs, link)
		CHECK(!r->pinned || r->holders || addr + length <= r->addr || r->addr + r->length <= addr);
}

static void step_invalidate(void)
{
	const struct block *b = &blocks[below(BLOCKS)];
	uint64_t length = random_length(b->length);
	uint64_t addr = b->addr + random_next(&rnd) % b->length;

	forget(addr, length);
	pp_cache_invalidate(cache, (void *)(uintptr_t)addr, length);
	if (!below(16))
		check_forgotten(addr, length);
}

static void step_flush(void)
{
	pp_cache_flush(cache);
	CHECK(!idle);
}

static void step_fail(void)
{
	fail_with = below(3) ? -ENOMEM : -EPERM;
	fail_count = 1 + below(3);
}

static void one_step(void)
{
	unsigned int what = below(2000);

	if (what < 1000)
		step_get();
	else if (what < 1900)
		put_slot(below(MAX_HELD));
	else if (what < 1960)
		step_memory();
	else if (what < 1980)
		step_invalidate();
	else if (what < 1999)
		step_fail();
	else
		step_flush();
}

static void check_state(void)
{
	struct pp_cache_stats s;

	pp_cache_stats(cache, &s);
	CHECK(cache->pinned == (attr.max_entries ? s.entries : 0));
	CHECK(cache->pinned_bytes == (attr.max_bytes ? s.bytes : 0));
	CHECK(s.pins == pins && s.unpins == unpins);
	CHECK(s.bytes == bytes && s.entries == pins - unpins);
	CHECK(!attr.max_bytes || bytes <= attr.max_bytes || !idle);
	CHECK(!attr.max_entries || pins - unpins <= attr.max_entries || !idle);
}

/* ---- runs -------------------------------------------------------------- */

static void free_regs(void)
{
	struct reg *r;

	while ((r = SLIST_FIRST(&regs))) {
		CHECK(!r->pinned);
		SLIST_REMOVE_HEAD(&regs, link);
		free(r);
	}
}

/* Add up the counts. check_total() fails a run with too few hits, evictions or revocations. */
static void add_up(void)
{
	struct pp_cache_stats s;

	pp_cache_stats(cache, &s);
	total.hits += s.hits;
	total.misses += s.misses;
	total.evictions += s.evictions;
	total.revocations += s.revocations;
}

static void check_total(void)
{
	if (step < 10 * STEPS_PER_CACHE)
		return;
	CHECK(total.hits > step / 20);
	CHECK(total.misses > step / 40);
	CHECK(total.evictions > step / 200);
	CHECK(tells || total.revocations > step / 400);
}

static void choose_limits(void)
{
	attr = (struct pp_cache_attr){
		.max_bytes = below(3) ? 0 : (1 + below(64)) * (LARGEST / 16),
		.max_entries = below(3) ? 0 : 1 + below(2 * BLOCKS),
	};
	capacity = below(3) ? 0 : LARGEST + below(64) * (LARGEST / 16);
}

static void one_cache(const struct pp_cache_ops *ops)
{
	uint64_t i;

	choose_limits();
	pins = unpins = 0;
	assert_int_equal(pp_cache_create(ops, NULL, &attr, &cache), 0);
	for (i = 0; i < STEPS_PER_CACHE; i++, step++) {
		one_step();
		check_state();
	}
	add_up();
	put_all();
	pp_cache_destroy(cache);
	CHECK(pins == unpins && !bytes && !idle && !idle_bytes);
	free_regs();
}

static void run(const struct pp_cache_ops *ops)
{
	pthread_t putter;
	unsigned int i;

	rnd = random_seed();
	tells = !ops->word && !ops->valid;
	memset(blocks, 0, sizeof(blocks));
	fail_count = 0;
	total = (struct pp_cache_stats){ 0 };
	for (i = 0; i < BLOCKS; i++)
		give_first(&blocks[i]);
	sem_init(&ask, 0, 0);
	sem_init(&done, 0, 0);
	assert_int_equal(pthread_create(&putter, NULL, put_for_others, NULL), 0);
	for (step = 0; step < steps_per_kind;)
		one_cache(ops);
	check_total();
	to_put = NULL;
	sem_post(&ask);
	pthread_join(putter, NULL);
}

static void ranges_that_merge(void **state)
{
	const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin, .word = word };

	(void)state;
	run(&ops);
}

static void whole_blocks(void **state)
{
	const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin, .word = word, .grow = grow };

	(void)state;
	run(&ops);
}

static void validity_by_word_and_call(void **state)
{
	const struct pp_cache_ops ops = {
		.pin = pin, .unpin = unpin, .word = word_of_some, .valid = valid, .grow = grow,
	};

	(void)state;
	run(&ops);
}

static void invalidated_before_each_free(void **state)
{
	const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin };

	(void)state;
	run(&ops);
}

static void validity_by_call_only(void **state)
{
	const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin, .valid = valid };

	(void)state;
	run(&ops);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_that_merge),
		cmocka_unit_test(whole_blocks),
		cmocka_unit_test(validity_by_word_and_call),
		cmocka_unit_test(invalidated_before_each_free),
		cmocka_unit_test(validity_by_call_only),
	};

	if (argc > 1)
		steps_per_kind = strtoull(argv[1], NULL, 0) / (sizeof(tests) / sizeof(tests[0]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
