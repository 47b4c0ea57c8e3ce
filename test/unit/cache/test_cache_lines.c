// SPDX-License-Identifier: MIT
/*
 * Regions of mixed sizes, dense and sparse: the lines of the index (lib/cache/lines.h) get shorter and longer blocks, and
 * regions move between lines and buckets. Each region must hit, and an invalidation must find all regions that it
 * overlaps.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "lib/cache/cache.h"
#include "lib/cache/overlaps.h"
#include "test/unit/check.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

enum {
	REGIONS = 3000,
	PAGE = 4096,
	HOT = 64,
	READERS = 2,
	CHANGES = 8000,
};

#define BASE 0x400000000000ull

/* @pinned: the region's registration exists */
struct region {
	uint64_t start;
	uint64_t length;
	_Atomic int pinned;
};

static struct region regions[REGIONS];
static struct pp_cache *cache;
static uint64_t seed;

static int pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	unsigned int i;

	(void)arg;
	(void)length;
	(void)why;
	for (i = 0; i < REGIONS && addr - regions[i].start >= regions[i].length; i++)
		;
	CHECK(i < REGIONS);
	CHECK(!atomic_fetch_add(&regions[i].pinned, 1));
	*reg = &regions[i];
	return 0;
}

static void unpin(void *arg, void *reg)
{
	struct region *r = reg;

	(void)arg;
	CHECK(atomic_fetch_sub(&r->pinned, 1) == 1);
}

static uint64_t below(uint64_t n)
{
	return random_below(&seed, n);
}

/* Of 1 page to 2^@bits pages, each order of magnitude equally often */
static uint64_t any_length(unsigned int bits)
{
	return (below(1ull << below(bits + 1)) + 1) * PAGE;
}

/* @gap: the largest gap between two regions, in pages */
static void place(unsigned int bits, uint64_t gap)
{
	uint64_t at = BASE;
	unsigned int i;

	for (i = 0; i < REGIONS; i++) {
		at += (below(gap + 1)) * PAGE;
		regions[i].start = at;
		regions[i].length = any_length(bits);
		at += regions[i].length;
	}
	for (i = REGIONS - 1; i; i--) {
		struct region other = regions[i];
		unsigned int j = below(i + 1);

		memcpy(&regions[i], &regions[j], sizeof(other));
		memcpy(&regions[j], &other, sizeof(other));
	}
}

static void touch(struct region *r, uint64_t offset, uint64_t length)
{
	const struct pp_cache_entry *e;

	CHECK(!pp_cache_get(cache, (void *)(uintptr_t)(r->start + offset), length, &e, NULL));
	CHECK(e->reg == r && e->addr == r->start && e->length == r->length);
	pp_cache_put(cache, e);
}

static struct pp_cache_stats stats(void)
{
	struct pp_cache_stats s;

	pp_cache_stats(cache, &s);
	return s;
}

static void touch_all(void)
{
	unsigned int i;

	for (i = 0; i < REGIONS; i++)
		touch(&regions[i], 0, regions[i].length);
}

/* Each region hits at its first page, at its last page and between. */
static void check_hits(void)
{
	uint64_t misses = stats().misses;
	unsigned int i;

	for (i = 0; i < REGIONS; i++) {
		struct region *r = &regions[i];

		if (!r->pinned)
			continue;
		touch(r, 0, PAGE);
		touch(r, r->length - PAGE, PAGE);
		touch(r, below(r->length / PAGE) * PAGE, PAGE);
	}
	assert_int_equal(stats().misses, misses);
}

static void invalidate_at(uint64_t start, uint64_t length)
{
	bool before[REGIONS];
	unsigned int i;

	for (i = 0; i < REGIONS; i++)
		before[i] = regions[i].pinned;
	pp_cache_invalidate(cache, (void *)(uintptr_t)start, length);
	for (i = 0; i < REGIONS; i++) {
		struct region *r = &regions[i];
		bool overlaps = r->start < start + length && start < r->start + r->length;

		assert_int_equal(r->pinned, before[i] && !overlaps);
	}
}

/* Does the quick test of a miss say that no region overlaps? It may say so only if this is true. */
static bool is_none_around(uint64_t start, uint64_t length)
{
	const struct pp_range range = { start, start + length };
	bool none = pp_overlaps_none(&cache->index, &range);
	unsigned int i;

	for (i = 0; none && i < REGIONS; i++)
		CHECK(!regions[i].pinned || regions[i].start >= range.end ||
		      regions[i].start + regions[i].length <= range.start);
	return none;
}

static void check_gaps(unsigned int bits)
{
	unsigned int i;

	for (i = 0; i < 500; i++) {
		const struct region *r = &regions[below(REGIONS)];
		uint64_t length = any_length(24);

		is_none_around(r->start + r->length - below(3) * PAGE, any_length(bits));
		/* only the last page of the range is in the region */
		is_none_around(r->start + PAGE - length, length);
	}
}

static uint64_t in_lines(void)
{
	return cache->index.use.lines.entries;
}

static unsigned int block_shift(void)
{
	return atomic_load(&cache->index.table)->shape.line_shift;
}

static int setup(void **state)
{
	const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin };

	(void)state;
	seed = random_seed();
	memset(regions, 0, sizeof(regions));
	return pp_cache_create(&ops, NULL, NULL, &cache);
}

static int teardown(void **state)
{
	unsigned int i;

	(void)state;
	pp_cache_destroy(cache);
	for (i = 0; i < REGIONS; i++)
		assert_int_equal(regions[i].pinned, 0);
	return 0;
}

/* ---- cases -------------------------------------------------------------------- */

static const struct {
	unsigned int bits;
	uint64_t gap;
} densities[] = {
	{ 18, 0 }, { 18, 1 << 22 }, { 6, 0 }, { 6, 1 << 20 },
	{ 22, 0 }, { 12, 1 << 12 }, { 24, 1 << 23 }, { 0, 1 << 22 },
};

static void mixed_sizes_hit_in_any_density(void **state)
{
	unsigned int i, k, shortest = 64, longest = 0;

	(void)state;
	for (i = 0; i < 3 * sizeof(densities) / sizeof(*densities); i++) {
		const unsigned int d = i % (sizeof(densities) / sizeof(*densities));

		place(densities[d].bits, densities[d].gap);
		touch_all();
		check_hits();
		shortest = block_shift() < shortest ? block_shift() : shortest;
		longest = block_shift() > longest ? block_shift() : longest;
		for (k = 0; k < 50; k++) {
			const struct region *r = &regions[below(REGIONS)];

			invalidate_at(r->start - below(16) * PAGE, any_length(densities[d].bits) + 16 * PAGE);
		}
		check_hits();
		check_gaps(densities[d].bits);
		touch_all();
		check_hits();
		check_gaps(densities[d].bits);
		invalidate_at(BASE, 1ull << 46);
		assert_int_equal(in_lines(), 0);
	}
	/* else the case has not tested that blocks change */
	assert_true(shortest < longest);
}

static void sizes_that_mix_are_in_lines(void **state)
{
	(void)state;
	place(18, 1 << 20);
	touch_all();
	assert_true(in_lines() > REGIONS * 9 / 10);
}

static void one_size_is_in_buckets(void **state)
{
	(void)state;
	place(0, 0);
	touch_all();
	assert_int_equal(in_lines(), 0);
	assert_int_equal(cache->index.only, 12);
}

static void few_others_leave_main_size_alone(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < REGIONS; i++) {
		regions[i].start = BASE + (uint64_t)i * 512 * PAGE;
		regions[i].length = (i % 100 == 99 ? 512 : 16) * PAGE;
	}
	touch_all();
	check_hits();
	assert_int_equal(cache->index.only, 16);
	assert_int_equal(in_lines(), REGIONS / 100);
}

/* Pins every other region. Returns how many of the other regions the quick test finds missing. */
static unsigned int found_missing(void)
{
	unsigned int i, found = 0;

	for (i = 0; i < REGIONS; i += 2)
		touch(&regions[i], 0, regions[i].length);
	for (i = 1; i < REGIONS; i += 2)
		found += is_none_around(regions[i].start, regions[i].length);
	invalidate_at(BASE, 1ull << 46);
	return found;
}

/* How many lines a look-up of @addr reads */
static unsigned int lines_read(uint64_t addr)
{
	const struct pp_lines *lines = &atomic_load(&cache->index.table)->lines;
	uint64_t unit = pp_unit_of(lines, addr), at = pp_line_place(lines, unit);
	uint32_t tag = pp_line_tag(unit), found;
	unsigned int n = 1;

	for (; (found = pp_line_tag_load(&lines->at[at])) && found != tag; n++)
		at = (at + 1) & lines->mask;
	return n;
}

/*
 * Two pools without gaps: the lines of one pool must not be one long run, through which a look-up of the other searches.
 * If the pools are 2^51 bytes apart, their blocks have the same tags.
 */
static void pools_share_no_run_of_lines(void **state)
{
	unsigned int distance, i, most = 0;

	(void)state;
	for (distance = 30; distance <= 51; distance++) {
		place(6, 0);
		for (i = 0; i < REGIONS; i += 2)
			regions[i].start += 1ull << distance;
		touch_all();
		check_hits();
		assert_true(block_shift() < 24);
		for (i = 0; i < REGIONS; i++)
			most = lines_read(regions[i].start) > most ? lines_read(regions[i].start) : most;
		invalidate_at(BASE, 1ull << 52);
	}
	if (most > 24)
		fail_msg("a look-up reads %u lines", most);
}

/* Otherwise each miss walks over the lines and buckets. */
static void most_misses_pass_quick_test(void **state)
{
	unsigned int sizes_mix, one_size;

	(void)state;
	place(18, 1 << 20);
	sizes_mix = found_missing();
	place(0, 0);
	one_size = found_missing();
	assert_true(sizes_mix > REGIONS / 4);
	assert_true(one_size > REGIONS / 4);
}

/* ---- readers -------------------------------------------------------------------- */

static atomic_bool over;

/* Regions that no other thread invalidates: each get must hit. */
static void *read_hot(void *arg)
{
	uint64_t rnd = (uintptr_t)arg + 1;

	while (!atomic_load(&over)) {
		struct region *r = &regions[random_below(&rnd, HOT)];

		touch(r, random_below(&rnd, r->length / PAGE) * PAGE, PAGE);
	}
	return NULL;
}

static void readers_hit_while_blocks_change(void **state)
{
	pthread_t readers[READERS];
	unsigned int i, changed = 0, last;

	(void)state;
	place(18, 1 << 10);
	for (i = 0; i < HOT; i++)
		touch(&regions[i], 0, regions[i].length);
	atomic_store(&over, false);
	for (i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_hot, (void *)(uintptr_t)i), 0);
	last = block_shift();
	for (i = 0; i < CHANGES; i++) {
		struct region *r = &regions[HOT + below(i / 1000 % 2 ? REGIONS - HOT : 100)];

		if (below(3))
			touch(r, 0, r->length);
		else
			pp_cache_invalidate(cache, (void *)(uintptr_t)r->start, r->length);
		changed += block_shift() != last;
		last = block_shift();
	}
	atomic_store(&over, true);
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	assert_true(changed > 0);
	check_hits();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mixed_sizes_hit_in_any_density),
		TEST(sizes_that_mix_are_in_lines),
		TEST(one_size_is_in_buckets),
		TEST(few_others_leave_main_size_alone),
		TEST(pools_share_no_run_of_lines),
		TEST(most_misses_pass_quick_test),
		TEST(readers_hit_while_blocks_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
