// SPDX-License-Identifier: MIT
/*
 * Who goes first: the region that was used least recently, by a time that is
 * counted in misses. Hits between two misses are not told apart.
 */
#include "cache_regions.h"
#include "test/unit/random.h"

enum {
	REGIONS = 64,		/* in play; half of them find room */
};

/* Any is left out that is not there; @n was used no later than all others. */
static void check_oldest(const unsigned int *used, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < REGIONS; i++)
		assert_true(!atomic_load(&pinned[i]) || used[i] >= used[n]);
}

static void who_was_used_least_recently_goes_first(void **state)
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
		TEST(who_was_used_least_recently_goes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
