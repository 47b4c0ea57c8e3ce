// SPDX-License-Identifier: MIT
/*
 * Sorted array under a readers-writer lock. References are atomic, so a hit takes the lock for the look-up only, and a
 * put takes no lock. The start addresses are in a separate array, the only memory that a search reads.
 */
#include <pthread.h>
#include <stdlib.h>
#include "item.h"

struct array {
	pthread_rwlock_t lock;
	unsigned int count;
	uint64_t *starts;
	struct item *items;
	uint32_t *words;
};

/* Find the last range that starts at or below @addr, without a branch that depends on data. */
static inline struct item *find(const struct array *a, uint64_t addr)
{
	unsigned int n = a->count, half;
	const uint64_t *base = a->starts;

	for (; n > 1; n -= half) {
		half = n / 2;
		base = base[half] <= addr ? base + half : base;
	}
	return &a->items[base - a->starts];
}

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void *make(unsigned int count, unsigned int limit)
{
	struct array *a = calloc(1, sizeof(*a));

	if (!a || limit)
		abort();
	a->starts = calloc(count, sizeof(*a->starts));
	a->items = calloc(count, sizeof(*a->items));
	a->words = calloc(count, sizeof(*a->words));
	if (!a->starts || !a->items || !a->words)
		abort();
	pthread_rwlock_init(&a->lock, NULL);
	return a;
}

static void drop(void *cache)
{
	struct array *a = cache;

	pthread_rwlock_destroy(&a->lock);
	free(a->starts);
	free(a->items);
	free(a->words);
	free(a);
}

/* The array is sorted only once, because the benchmark does not measure insertions. */
static void use(void *cache, const struct range *ranges, unsigned int count)
{
	struct array *a = cache;

	pthread_rwlock_wrlock(&a->lock);
	for (; count--; ranges++, a->count++)
		a->items[a->count] = (struct item){
			.start = ranges->start, .end = ranges->start + ranges->length,
			.word = &a->words[a->count],
		};
	qsort(a->items, a->count, sizeof(*a->items), compare);
	for (unsigned int i = 0; i < a->count; i++)
		a->starts[i] = a->items[i].start;
	pthread_rwlock_unlock(&a->lock);
}

static struct item *get(struct array *a, uint64_t addr)
{
	struct item *i;

	pthread_rwlock_rdlock(&a->lock);
	i = find(a, addr);
	if (item_covers(i, addr))
		__atomic_fetch_add(&i->users, 1, __ATOMIC_RELAXED);
	else
		i = NULL;
	pthread_rwlock_unlock(&a->lock);
	return i;
}

static unsigned int hits(void *cache, const struct lookup *lookups, unsigned int count)
{
	struct array *a = cache;
	unsigned int good = 0;
	struct item *i;

	for (; count--; lookups++) {
		i = get(a, lookups->addr);
		if (!i)
			continue;
		good += item_valid(i);
		item_used();
		__atomic_fetch_sub(&i->users, 1, __ATOMIC_RELEASE);
	}
	return good;
}

const struct contender baseline_array = {
	.name = "rwlock + array", .shared = true, .make = make, .drop = drop, .use = use, .hits = hits,
};
