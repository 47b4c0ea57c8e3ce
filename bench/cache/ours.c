// SPDX-License-Identifier: MIT
#include "bench/bench.h"
#include "ours.h"

enum { WORDS = 1 << 18 };	/* more than the number of registrations of any cache */

/* Sleeps, so that another process on the CPU does not prolong the pin. */
static void take_time(uint64_t ns)
{
	struct timespec left = { ns / 1000000000, ns % 1000000000 };

	while (nanosleep(&left, &left))
		;
}

static uint32_t *next_word(struct ours *o)
{
	unsigned int i = atomic_fetch_add_explicit(&o->pins, 1, memory_order_relaxed);

	return &o->words[i < WORDS ? i : o->first + (i - o->first) % (WORDS - o->first)];
}

static int pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	struct ours *o = arg;

	(void)addr;
	(void)length;
	(void)why;
	if (o->pin_ns)
		take_time(o->pin_ns);
	*reg = next_word(o);
	return 0;
}

static void unpin_nothing(void *arg, void *reg)
{
	(void)arg;
	(void)reg;
}

static const uint32_t *word(void *arg, void *reg, uint32_t *value)
{
	(void)arg;
	*value = __atomic_load_n((uint32_t *)reg, __ATOMIC_ACQUIRE);
	return reg;
}

static const struct pp_cache_ops word_each = { .pin = pin, .unpin = unpin_nothing, .word = word };
static const struct pp_cache_ops one_word = { .pin = pin, .unpin = unpin_nothing };

static void *make_with(const struct pp_cache_ops *ops, unsigned int count, unsigned int limit)
{
	const struct pp_cache_attr attr = { .max_entries = limit };
	struct ours *o = calloc(1, sizeof(*o));
	int ret;

	bench_need(o && count <= WORDS, "memory", ENOMEM);
	o->words = mmap(NULL, WORDS * sizeof(*o->words), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bench_need(o->words != MAP_FAILED, "memory", errno);
	ret = pp_cache_create(ops, o, &attr, &o->cache);
	bench_need(!ret, "pp_cache_create", ret);
	return o;
}

static void *make(unsigned int count, unsigned int limit)
{
	return make_with(&word_each, count, limit);
}

static void *make_one_word(unsigned int count, unsigned int limit)
{
	return make_with(&one_word, count, limit);
}

static void drop(void *cache)
{
	struct ours *o = cache;

	pp_cache_destroy(o->cache);
	munmap(o->words, WORDS * sizeof(*o->words));
	free(o);
}

static void use(void *cache, const struct range *ranges, unsigned int count)
{
	struct ours *o = cache;
	const struct pp_cache_entry *e;
	int ret;

	for (; count--; ranges++) {
		ret = pp_cache_get(o->cache, (void *)ranges->start, ranges->length, &e, NULL);
		bench_need(!ret, "pp_cache_get", ret);
		pp_cache_put(o->cache, e);
	}
}

static unsigned int hits(void *cache, const struct lookup *lookups, unsigned int count)
{
	struct pp_cache *c = ((struct ours *)cache)->cache;
	const struct pp_cache_entry *e;
	unsigned int good = 0;

	for (; count--; lookups++) {
		if (pp_cache_get(c, (void *)lookups->addr, ASKED, &e, NULL))
			continue;
		good += e->addr <= lookups->addr;
		pp_cache_put(c, e);
	}
	return good;
}

static unsigned int chain(void *cache, const struct lookup *lookups, unsigned int count)
{
	struct pp_cache *c = ((struct ours *)cache)->cache;
	const struct pp_cache_entry *e;
	unsigned int good = 0;
	uint64_t last = 0;

	for (; count--; lookups++) {
		if (pp_cache_get(c, (void *)(lookups->addr + (last & 1)), ASKED, &e, NULL))
			continue;
		last = e->addr;
		good += last <= lookups->addr;
		pp_cache_put(c, e);
	}
	return good;
}

void ours_revoke(struct ours *o, const struct range *range)
{
	const struct pp_cache_entry *e;
	int ret = pp_cache_get(o->cache, (void *)range->start, range->length, &e, NULL);

	bench_need(!ret, "pp_cache_get", ret);
	__atomic_fetch_add((uint32_t *)e->reg, 1, __ATOMIC_RELEASE);
	pp_cache_put(o->cache, e);
}

struct pp_cache_stats ours_stats(void *cache)
{
	struct pp_cache_stats s;

	pp_cache_stats(((struct ours *)cache)->cache, &s);
	return s;
}

const struct contender ours = {
	.name = "peerpin", .shared = true, .make = make, .drop = drop, .use = use, .hits = hits, .chain = chain,
};

const struct contender ours_one_word = {
	.name = "peerpin, one word for all", .shared = true, .make = make_one_word, .drop = drop, .use = use, .hits = hits,
};
