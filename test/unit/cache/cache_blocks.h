/* SPDX-License-Identifier: MIT */
/*
 * Mock memory for a single thread that calls a cache. 48 blocks of 4 KiB to 8 GiB are freed and
 * allocated again, mostly at the same address. The header also counts the registrations of blocks.
 */
#ifndef CACHE_BLOCKS_H
#define CACHE_BLOCKS_H

#include <errno.h>
#include <stdbool.h>
#include <sys/queue.h>
#include "libpeerpin.h"
#include "test/unit/random.h"

enum {
	BLOCKS = 48,
	PAGE = 4096,
};

#define BASE 0x7000000000ull
#define STRIDE (16ull << 30)
#define LARGEST (8ull << 30)

/** struct block - mock memory; @word is even while the block is allocated */
struct block {
	uint64_t addr;
	uint64_t length;
	uint32_t word;
};

/** struct reg - a registration; @holders: gets without a put; @forgotten: invalidated in the cache */
struct reg {
	uint64_t addr;
	uint64_t length;
	struct block *block;
	uint32_t word;
	unsigned int holders;
	bool pinned;
	bool forgotten;
	SLIST_ENTRY(reg) link;
};

SLIST_HEAD(regs, reg);

static struct pp_cache *cache;
static bool tells;		/* true: invalidate the cache before memory is freed */
static uint64_t rnd, step;
static struct block blocks[BLOCKS];
static struct regs regs;
static uint64_t pins, unpins, bytes, idle, idle_bytes, capacity;
static int fail_count, fail_with;

#define CHECK(condition) check(condition, #condition, __LINE__)

/* Replaces the asserts of cmocka, which do not work in callbacks and in other threads. */
static inline void check(bool ok, const char *what, int line)
{
	if (ok)
		return;
	fprintf(stderr, "%s:%d: step %llu: check failed: %s\n", __FILE__, line, (unsigned long long)step, what);
	exit(1);
}

static inline unsigned int below(unsigned int limit)
{
	return random_below(&rnd, limit);
}

/* A random length up to @most; each power of two is equally likely. */
static inline uint64_t random_length(uint64_t most)
{
	unsigned int bits = 1 + below(64 - __builtin_clzll(most));
	uint64_t length = 1 + (random_next(&rnd) >> (64 - bits));

	return length < most ? length : most;
}

/* ---- memory ------------------------------------------------------------ */

static inline bool is_live(const struct block *b)
{
	return !(b->word & 1);
}

static inline struct block *block_at(uint64_t addr)
{
	uint64_t n = (addr - BASE) / STRIDE;

	return n < BLOCKS ? &blocks[n] : NULL;
}

static inline bool is_owned(uint64_t addr, uint64_t length)
{
	const struct block *b = block_at(addr);

	return b && is_live(b) && b->addr <= addr && addr + length <= b->addr + b->length;
}

static inline void give(struct block *b)
{
	if (below(2) || !b->length) {
		b->addr = BASE + (b - blocks) * STRIDE + below(64) * PAGE;
		b->length = (random_length(LARGEST) + PAGE - 1) / PAGE * PAGE;
	}
	b->word++;
}

static inline void give_first(struct block *b)
{
	b->word = 1;
	give(b);
}

static inline void take(struct block *b)
{
	if (tells)
		pp_cache_invalidate(cache, (void *)(uintptr_t)b->addr, b->length);
	b->word++;
}

static inline int refusal(uint64_t addr, uint64_t length)
{
	if (!is_owned(addr, length))
		return -EINVAL;
	if (fail_count) {
		fail_count--;
		return fail_with;
	}
	return capacity && bytes + length > capacity ? -ENOMEM : 0;
}

static inline int pin(void *arg, uint64_t addr, uint64_t length, void **out, struct pp_why *why)
{
	int ret = refusal(addr, length);
	struct reg *r;

	(void)arg;
	(void)why;
	if (ret)
		return ret;
	r = calloc(1, sizeof(*r));
	*r = (struct reg){ .addr = addr, .length = length, .block = block_at(addr), .pinned = true };
	r->word = r->block->word;
	SLIST_INSERT_HEAD(&regs, r, link);
	pins++;
	bytes += length;
	idle++;
	idle_bytes += length;
	*out = r;
	return 0;
}

static inline void unpin(void *arg, void *reg)
{
	struct reg *r = reg;

	(void)arg;
	CHECK(r->pinned);
	CHECK(!r->holders);
	r->pinned = false;
	unpins++;
	bytes -= r->length;
	idle--;
	idle_bytes -= r->length;
}

static inline const uint32_t *word(void *arg, void *reg, uint32_t *value)
{
	struct reg *r = reg;

	(void)arg;
	*value = r->word;
	return &r->block->word;
}

/* Like word(), but every second block has no word: the revocation page does not cover it. */
static inline const uint32_t *word_of_some(void *arg, void *reg, uint32_t *value)
{
	struct reg *r = reg;

	return (r->block - blocks) % 2 ? word(arg, reg, value) : NULL;
}

static inline int valid(void *arg, void *reg)
{
	struct reg *r = reg;

	(void)arg;
	return r->word == r->block->word;
}

static inline int grow(void *arg, uint64_t *addr, uint64_t *length)
{
	const struct block *b = block_at(*addr);

	(void)arg;
	if (!is_owned(*addr, *length))
		return -EINVAL;
	*addr = b->addr;
	*length = b->length;
	return 1;
}

#endif
