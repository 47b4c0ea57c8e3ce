// SPDX-License-Identifier: MIT
/*
 * What libpeerpin-fi adds to a hit of libfabric's cache: pp_subs_valid() of ranges in random order. The functions below
 * replace the kernel, and give each watch a word. The baseline is the check of kdreg2: each entry of libfabric's cache
 * has the index of a word, and a hit compares this word, without a look-up.
 */
#include <libpeerpin.h>
#include "bench.h"
#include "lib/fi/subs.h"
#include "lib/sys/sys.h"

enum {
	ROUNDS = 51,
	HITS = 1 << 16,
	MOST = 100000,
	LENGTH = 64 << 10,
};

#define AT 0x7f0000000000ull

/* ---- the kernel ------------------------------------------------------------------------- */

static _Atomic uint32_t words[PEERPIN_MAX_REGIONS + PEERPIN_MAX_WATCHES];
static uint32_t watches;

int pp_fd(const struct pp_ctx *ctx)
{
	(void)ctx;
	return -1;
}

int pp_sys_map(int fd, size_t length, void **out)
{
	(void)fd, (void)length;
	*out = words;
	return 0;
}

int pp_sys_unmap(void *at, size_t length)
{
	(void)at, (void)length;
	return 0;
}

int pp_watch(struct pp_ctx *ctx, const void *addr, size_t length, struct pp_watched *out, struct pp_why *why)
{
	(void)ctx, (void)addr, (void)length, (void)why;
	*out = (struct pp_watched){ .id = ++watches, .slot = PEERPIN_MAX_REGIONS + watches };
	return 0;
}

int pp_unwatch(struct pp_ctx *ctx, const struct pp_watched *w)
{
	(void)ctx, (void)w;
	return 0;
}

/* ---- hits ------------------------------------------------------------------------------- */

enum check { OURS, WORD, CHECKS };

static const unsigned int counts[] = { 1, 10000, MOST };
static const double most[] = { 10, 15, 60 };
static struct pp_subs subs;
static uint32_t picked[HITS];
static struct entry {
	uint32_t slot, epoch;
} entries[MOST];

static unsigned int hit_subs(void)
{
	unsigned int good = 0;

	for (unsigned int i = 0; i < HITS; i++)
		good += pp_subs_valid(&subs, AT + (uint64_t)picked[i] * LENGTH, LENGTH);
	return good;
}

static unsigned int hit_words(void)
{
	unsigned int good = 0;
	const struct entry *e;

	for (unsigned int i = 0; i < HITS; i++) {
		e = &entries[picked[i]];
		good += atomic_load_explicit(&words[e->slot], memory_order_acquire) == e->epoch;
	}
	return good;
}

/* Picoseconds of a hit */
static uint64_t measure(enum check check)
{
	uint64_t start = now_ns();
	unsigned int good = check == OURS ? hit_subs() : hit_words();

	start = (now_ns() - start) * 1000 / HITS;
	bench_need(good == HITS, "a range is not valid", ESTALE);
	return start;
}

static void fill(unsigned int from, unsigned int to)
{
	for (; from < to; from++) {
		bench_need(!pp_subs_add(&subs, AT + (uint64_t)from * LENGTH, LENGTH), "pp_subs_add", ENOMEM);
		entries[from] = (struct entry){ PEERPIN_MAX_REGIONS + watches, 0 };
	}
}

static void compare(unsigned int which)
{
	static uint64_t ps[CHECKS][ROUNDS];
	unsigned int i;
	char of[32];

	for (i = 0; i < HITS; i++)
		picked[i] = random() % counts[which];
	for (i = 0; i < ROUNDS; i++)
		for (enum check c = 0; c < CHECKS; c++)
			ps[c][i] = measure(c);
	snprintf(of, sizeof(of), "%u subscriptions", counts[which]);
	CLAIM(.what = "libfabric's check of a hit", .of = of, .ours = bench_median(ps[OURS], ROUNDS) / 1e3,
	      .beside = "the word alone, as kdreg2", .theirs = bench_median(ps[WORD], ROUNDS) / 1e3, .most = most[which]);
}

CASE(hits)
{
	bench_need(!pp_subs_init(&subs, NULL), "pp_subs_init", ENOMEM);
	for (unsigned int i = 0; i < N(counts); i++) {
		fill(i ? counts[i - 1] : 0, counts[i]);
		compare(i);
	}
}

VMTEST_MAIN
