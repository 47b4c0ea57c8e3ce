// SPDX-License-Identifier: MIT
/*
 * The cost of a look-up among few and among many regions: by QUERY, and by peerpin_attach() of a
 * region that is attached already. One file has few regions, another has many; they are measured in
 * turns. Look-ups are random. Among ten regions far apart they show the cost of the search. Among all
 * regions misses of the CPU caches are added.
 */
#include <sys/resource.h>
#include "peer.h"

enum {
	ROUNDS = 101,
	LOOKUPS = 1000,
	FEW = 10,
	MANY = 100000,
	PAGE = 4096,
};

/*
 * struct set - regions of one file
 * @step: look up every @step-th region
 */
static struct set {
	unsigned int count;
	unsigned int step;
	int fd;
	uint32_t *ids;
	uint32_t picked[LOOKUPS];
	uint64_t ns[ROUNDS];
} few = { .count = FEW }, many = { .count = MANY };

static int peer;

static struct peer_bench attaching(struct set *s, uint32_t *ids, unsigned int count)
{
	return (struct peer_bench){ .fd = s->fd, .regions = (uintptr_t)ids, .count = count, .peers = 1 };
}

/* All regions pin the same page: more pages would not change the result. */
static void set_make(struct set *s, void *page)
{
	struct peerpin_pin pin;
	unsigned int i;
	int ret;

	s->fd = pin_open();
	s->ids = calloc(s->count, sizeof(*s->ids));
	bench_need(s->fd >= 0 && s->ids, "/dev/peerpin", errno);
	for (i = 0; i < s->count; i++) {
		ret = pin_by(s->fd, (uintptr_t)page, PAGE, PEERPIN_PROVIDER_HOST, &pin);
		bench_need(!ret, "PEERPIN_IOC_PIN", ret);
		s->ids[i] = pin.out_region;
	}
	peer_call(peer, attaching(s, s->ids, s->count), PEER_BENCH_ATTACH);
}

static void set_pick(struct set *s)
{
	unsigned int i;

	for (i = 0; i < LOOKUPS; i++)
		s->picked[i] = s->ids[random() % (s->count / s->step) * s->step];
}

static uint64_t by_query(struct set *s)
{
	uint64_t start = now_ns();
	struct peerpin_query c;
	unsigned int i;
	int ret;

	for (i = 0; i < LOOKUPS; i++) {
		ret = query(s->fd, s->picked[i], &c);
		bench_need(!ret && c.out_attached == 1, "PEERPIN_IOC_QUERY", ret);
	}
	return now_ns() - start;
}

static uint64_t by_attach(struct set *s)
{
	return peer_call(peer, attaching(s, s->picked, LOOKUPS), PEER_BENCH_ATTACH);
}

/* Claim for look-ups of every @step-th of @many. @times bounds the search; 0: no bound */
static void measure(const char *what, uint64_t (*look_up)(struct set *s), unsigned int step,
		    double times)
{
	unsigned int i;
	char of[80];

	few.step = 1;
	many.step = step;
	for (i = 0; i < ROUNDS; i++) {
		set_pick(&few);
		set_pick(&many);
		few.ns[i] = look_up(&few) / LOOKUPS;
		many.ns[i] = look_up(&many) / LOOKUPS;
	}
	snprintf(of, sizeof(of), "any of %u among %d", MANY / step, MANY);
	CLAIM(.what = what, .of = of, .ours = bench_median(many.ns, ROUNDS), .beside = "among 10",
	      .theirs = bench_median(few.ns, ROUNDS), .times = times);
}

CASE(there_are_regions)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	char *page = aligned_alloc(PAGE, PAGE);

	bench_need(!setrlimit(RLIMIT_MEMLOCK, &unlimited) && page, "memory to lock", errno);
	*page = 1;
	peer = peer_open();
	set_make(&few, page);
	set_make(&many, page);
}

CASE(query_finds_it)
{
	measure("look-up by QUERY", by_query, MANY / FEW, 2);
	measure("look-up by QUERY", by_query, 1, 0);
}

CASE(attach_finds_it)
{
	measure("look-up by peerpin_attach()", by_attach, MANY / FEW, 2);
	measure("look-up by peerpin_attach()", by_attach, 1, 0);
}

VMTEST_MAIN
