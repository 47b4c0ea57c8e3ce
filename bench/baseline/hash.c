// SPDX-License-Identifier: MIT
/*
 * The lower bound for a hit: one hash of the start address finds the slot of a range. The caller knows the start, so
 * there is no search. One thread, no lock, no limit.
 */
#include <stdlib.h>
#include "item.h"

/* One cache line. Users keep the address of an item, so items do not move, and the hash has pointers to them. */
struct entry {
	_Alignas(64) struct item item;
};

/**
 * struct hash - hash of ranges by start address
 * @slots: hash table with open addressing, less than half full; NULL: free slot
 * @shift: reduces a hash value to the index of a slot
 */
struct hash {
	struct entry **slots;
	struct entry *entries;
	uint32_t *words;
	unsigned int count;
	unsigned int shift;
	unsigned int mask;
};

static inline unsigned int place(const struct hash *h, uint64_t start)
{
	return (start >> 16) * 0x9e3779b97f4a7c15ull >> h->shift;
}

/* The caller knows that the range is in the hash. */
static inline struct item *find(const struct hash *h, uint64_t start)
{
	unsigned int i = place(h, start);

	while (h->slots[i]->item.start != start)
		i = (i + 1) & h->mask;
	return &h->slots[i]->item;
}

static void insert(struct hash *h, struct entry *e)
{
	unsigned int i = place(h, e->item.start);

	while (h->slots[i])
		i = (i + 1) & h->mask;
	h->slots[i] = e;
}

static void *make(unsigned int count, unsigned int limit)
{
	struct hash *h = calloc(1, sizeof(*h));
	unsigned int bits = 1;

	if (!h || limit)
		abort();
	while (1u << bits <= 2 * count)
		bits++;
	h->shift = 64 - bits;
	h->mask = (1u << bits) - 1;
	h->slots = calloc(1u << bits, sizeof(*h->slots));
	h->entries = aligned_alloc(64, count * sizeof(*h->entries));
	h->words = calloc(count, sizeof(*h->words));
	if (!h->slots || !h->entries || !h->words)
		abort();
	return h;
}

static void drop(void *cache)
{
	struct hash *h = cache;

	free(h->slots);
	free(h->entries);
	free(h->words);
	free(h);
}

static void use(void *cache, const struct range *ranges, unsigned int count)
{
	struct hash *h = cache;

	for (; count--; ranges++, h->count++) {
		h->entries[h->count].item = (struct item){
			.start = ranges->start, .end = ranges->start + ranges->length, .word = &h->words[h->count],
		};
		insert(h, &h->entries[h->count]);
	}
}

static unsigned int hits(void *cache, const struct lookup *lookups, unsigned int count)
{
	const struct hash *h = cache;
	unsigned int good = 0;
	struct item *i;

	for (; count--; lookups++) {
		i = find(h, lookups->start);
		i->users++;
		good += item_covers(i, lookups->addr) && item_valid(i);
		item_used();
		i->users--;
	}
	return good;
}

/* Starts are even, so the last bit of a start does not change the next address. The CPU does not know that. */
static unsigned int chain(void *cache, const struct lookup *lookups, unsigned int count)
{
	const struct hash *h = cache;
	unsigned int good = 0;
	uint64_t last = 0;
	struct item *i;

	for (; count--; lookups++) {
		i = find(h, lookups->start + (last & 1));
		i->users++;
		good += item_covers(i, lookups->addr) && item_valid(i);
		item_used();
		last = i->start;
		i->users--;
	}
	return good;
}

static unsigned int hits_atomic(void *cache, const struct lookup *lookups, unsigned int count)
{
	const struct hash *h = cache;
	unsigned int good = 0;
	struct item *i;

	for (; count--; lookups++) {
		i = find(h, lookups->start);
		__atomic_fetch_add(&i->users, 1, __ATOMIC_ACQUIRE);
		good += item_covers(i, lookups->addr) && item_valid(i);
		item_used();
		__atomic_fetch_sub(&i->users, 1, __ATOMIC_RELEASE);
	}
	return good;
}

const struct contender baseline_ideal = {
	.name = "ideal hash", .make = make, .drop = drop, .use = use, .hits = hits, .chain = chain,
};

const struct contender baseline_ideal_atomic = {
	.name = "ideal hash, atomic", .shared = true, .make = make, .drop = drop, .use = use, .hits = hits_atomic,
};
