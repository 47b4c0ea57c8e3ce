// SPDX-License-Identifier: MIT
/* Random calls. After each call the invariants of lib/cache/regcache.c must hold. */
#include <errno.h>
#include <string.h>
#include "test/unit/mock/mock_memory.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

enum {
	STEPS = 20000,
	MAX_HELD = 6,
	BUDGET = 40,		/* budget of the cache in pages */
	CAPACITY = 60,
};

static struct mock_memory mem;
static struct pp_cache *cache;
static const struct pp_cache_entry *held[MAX_HELD];
static uint64_t rnd;

static unsigned int below(unsigned int limit)
{
	return random_below(&rnd, limit);
}

static bool is_held(const struct mock_reg *reg)
{
	int i;

	for (i = 0; i < MAX_HELD; i++)
		if (held[i] && held[i]->reg == reg)
			return true;
	return false;
}

static void check_range(const struct pp_cache_entry *e, uint64_t addr,
			uint64_t length)
{
	const struct mock_reg *reg = e->reg;

	assert_true(e->addr <= addr);
	assert_true(addr + length <= e->addr + e->length);
	assert_int_equal(reg->addr, e->addr);
	assert_int_equal(reg->length, e->length);
	assert_int_equal(reg->unpinned, 0);
}

/* G1: each page must still belong to its owner at the registration. */
static void check_owners(const struct pp_cache_entry *e, uint64_t addr,
			 uint64_t length)
{
	const struct mock_reg *reg = e->reg;
	unsigned int i;

	for (i = mock_page_of(addr); i <= mock_page_of(addr + length - 1); i++)
		assert_int_equal(reg->owner[i], mem.owner[i]);
}

static bool all_owned(uint64_t addr, uint64_t length)
{
	unsigned int i;

	for (i = mock_page_of(addr); i <= mock_page_of(addr + length - 1); i++)
		if (!mem.owner[i])
			return false;
	return true;
}

static uint64_t pinned(bool idle_only)
{
	const struct mock_reg *r;
	uint64_t sum = 0;

	LIST_FOREACH(r, &mem.live, link)
		if (!idle_only || !is_held(r))
			sum += r->length;
	return sum;
}

/* -ENOMEM is right only if the range does not fit into the budget beside the entries in use. */
static void check_error(int ret, uint64_t addr, uint64_t length)
{
	if (ret == -ENOMEM)
		assert_true(mem.pinned + length > CAPACITY * MOCK_PAGE &&
			    pinned(true) == 0);
	else if (ret == -EINVAL || ret == -ESTALE)
		assert_false(all_owned(addr, length));
	else
		fail_msg("error %d", ret);
}

static void step_get(void)
{
	unsigned int i = below(MAX_HELD);
	uint64_t addr = MOCK_BASE + below(100 * MOCK_PAGE);
	uint64_t length = 1 + below(10 * MOCK_PAGE);
	const struct pp_cache_entry *e;
	int ret;

	if (held[i])
		return;
	ret = pp_cache_get(cache, (void *)(uintptr_t)addr, length, &e, NULL);
	if (ret) {
		check_error(ret, addr, length);
		return;
	}
	check_range(e, addr, length);
	check_owners(e, addr, length);
	held[i] = e;
}

static void step_put(void)
{
	unsigned int i = below(MAX_HELD);
	const struct pp_cache_entry *e = held[i];

	held[i] = NULL;
	if (e)
		pp_cache_put(cache, e);
}

static void step_memory(void)
{
	unsigned int first = below(100), count = 1 + below(12);

	if (below(3))
		mock_alloc(&mem, first, count);
	else
		mock_free(&mem, first, count);
}

static void step_invalidate(void)
{
	pp_cache_invalidate(cache, mock_at(below(100)), below(5 * MOCK_PAGE));
}

static void step(void)
{
	unsigned int what = below(100);

	if (what < 55)
		step_get();
	else if (what < 90)
		step_put();
	else if (what < 97)
		step_memory();
	else if (what < 99)
		step_invalidate();
	else
		pp_cache_flush(cache);
}

/* G3: the budget holds. The statistics of the cache equal the counts of the mock memory. */
static void check_state(void)
{
	struct pp_cache_stats s;

	pp_cache_stats(cache, &s);
	assert_int_equal(s.bytes, pinned(false));
	assert_int_equal(s.pins, mem.pins);
	assert_int_equal(s.unpins, mem.unpins);
	assert_true(s.bytes <= BUDGET * MOCK_PAGE || !pinned(true));
}

static void run(const struct pp_cache_ops *ops)
{
	const struct pp_cache_attr attr = { .max_bytes = BUDGET * MOCK_PAGE };
	int i;

	mock_memory_init(&mem);
	mem.capacity = CAPACITY * MOCK_PAGE;
	mock_alloc(&mem, 0, 128);
	rnd = random_seed();
	assert_int_equal(pp_cache_create(ops, &mem, &attr, &cache), 0);
	for (i = 0; i < STEPS; i++) {
		step();
		check_state();
	}
	for (i = 0; i < MAX_HELD; i++)
		if (held[i])
			pp_cache_put(cache, held[i]);
	pp_cache_destroy(cache);
}

/* G5: every pin was unpinned once. */
static void check_end(void)
{
	const struct mock_reg *r;

	assert_true(LIST_EMPTY(&mem.live));
	assert_int_equal(mem.pinned, 0);
	LIST_FOREACH(r, &mem.dead, link)
		assert_int_equal(r->unpinned, 1);
	mock_memory_destroy(&mem);
}

static int setup(void **state)
{
	(void)state;
	memset(held, 0, sizeof(held));
	return 0;
}

static void model_holds_for_merging_memory(void **state)
{
	(void)state;
	run(&mock_host_ops);
	check_end();
}

static void model_holds_for_allocations(void **state)
{
	(void)state;
	run(&mock_gpu_ops);
	check_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(model_holds_for_merging_memory, setup),
		cmocka_unit_test_setup(model_holds_for_allocations, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
