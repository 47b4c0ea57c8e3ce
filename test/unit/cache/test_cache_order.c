// SPDX-License-Identifier: MIT
/*
 * The cache must evict the least recently used region. Time counts in misses. So the order of hits
 * between two misses is unknown.
 */
#include "cache_regions.h"
#include "test/unit/random.h"

enum {
	REGIONS = 64,		/* number of regions in use; half of them fit into the cache */
};

/* Check that no pinned region was used before region @n. */
static void check_oldest(const unsigned int *used, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < REGIONS; i++)
		assert_true(!atomic_load(&pinned[i]) || used[i] >= used[n]);
}

static void least_recently_used_is_evicted_first(void **state)
{
	unsigned int used[REGIONS] = { 0 };
	uint64_t rnd = random_seed();
	unsigned int i, n, now = 0, evictions = 0;

	(void)state;
	cache = make(REGIONS / 2, 0);
	for (i = 0; i < 20000; i++) {
		n = random_below(&rnd, random_below(&rnd, REGIONS) + 1);
		atomic_store(&last_unpinned, MANY);
		now += !atomic_load(&pinned[n]);
		used[n] = now;
		assert_true(touch(n));
		if (last_unpinned == MANY)
			continue;
		check_oldest(used, last_unpinned);
		evictions++;
	}
	assert_true(evictions > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(least_recently_used_is_evicted_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
