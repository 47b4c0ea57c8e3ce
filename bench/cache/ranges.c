// SPDX-License-Identifier: MIT
#include <math.h>
#include "bench/bench.h"
#include "ranges.h"

#define PAGE (64ull << 10)
#define BASE (1ull << 40)	/* first address of dense ranges */
#define SPACE (1ull << 46)	/* end of the addresses of scattered ranges */
#define BIGGEST (1ull << 30)
#define POOLS_APART (16ull << 30)

static uint64_t state = 88172645463325252ull;

/* A random number below @below, by xorshift */
static uint64_t any(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (__uint128_t)state * below >> 64;
}

static struct ranges ranges_alloc(unsigned int count)
{
	struct ranges r = { calloc(count, sizeof(*r.at)), count };

	bench_need(r.at != NULL, "memory", ENOMEM);
	return r;
}

struct ranges ranges_dense(unsigned int count, uint64_t length)
{
	struct ranges r = ranges_alloc(count);

	for (unsigned int i = 0; i < count; i++)
		r.at[i] = (struct range){ BASE + i * length, length };
	return r;
}

static uint64_t any_length(void)
{
	double fraction = any(1 << 20) / (double)(1 << 20);

	return (uint64_t)pow(BIGGEST / PAGE, fraction) * PAGE;
}

static void shuffle(struct ranges *r)
{
	struct range other;

	for (unsigned int i = r->count - 1; i; i--) {
		unsigned int j = any(i + 1);

		other = r->at[i];
		r->at[i] = r->at[j];
		r->at[j] = other;
	}
}

/* Cut the free address space at random places: the pieces are the gaps. */
struct ranges ranges_scattered(unsigned int count, uint64_t length)
{
	struct ranges r = ranges_alloc(count);
	uint64_t *cuts = calloc(count, sizeof(*cuts)), used = PAGE, i;

	bench_need(cuts != NULL, "memory", ENOMEM);
	for (i = 0; i < count; i++)
		used += r.at[i].length = length ? length : any_length();
	for (i = 0; i < count; i++)
		cuts[i] = any((SPACE - used) / PAGE) * PAGE;
	qsort(cuts, count, sizeof(*cuts), bench_compare);
	for (i = 0, used = PAGE; i < count; used += r.at[i++].length)
		r.at[i].start = cuts[i] + used;
	free(cuts);
	shuffle(&r);
	return r;
}

static void pack(struct ranges *r)
{
	uint64_t at = BASE;

	for (unsigned int i = 0; i < r->count; at += r->at[i++].length)
		r->at[i].start = at;
}

struct ranges ranges_packed(unsigned int count)
{
	struct ranges r = ranges_alloc(count);

	for (unsigned int i = 0; i < count; i++)
		r.at[i].length = any_length();
	pack(&r);
	shuffle(&r);
	return r;
}

struct ranges ranges_dense_but(unsigned int count, unsigned int nth)
{
	struct ranges r = ranges_alloc(count);

	for (unsigned int i = 0; i < count; i++)
		r.at[i].length = i % nth == nth - 1 ? 32 * PAGE : PAGE;
	pack(&r);
	return r;
}

struct ranges ranges_in_pools(unsigned int count)
{
	struct ranges r = ranges_alloc(count);
	uint64_t second;

	for (unsigned int i = 0; i < count; i++)
		r.at[i].length = (1 + any(6)) * PAGE;
	pack(&r);
	second = BASE + POOLS_APART - r.at[count / 2].start;
	for (unsigned int i = count / 2; i < count; i++)
		r.at[i].start += second;
	shuffle(&r);
	return r;
}

void ranges_free(struct ranges *r)
{
	free(r->at);
	r->at = NULL;
}

static struct lookup look_up_in(const struct range *one)
{
	return (struct lookup){ one->start + any(one->length / PAGE) * PAGE, one->start };
}

void ranges_look_up(const struct ranges *r, struct lookup *out, unsigned int count)
{
	for (; count--; out++)
		*out = look_up_in(&r->at[any(r->count)]);
}

void ranges_look_up_each(const struct ranges *r, struct lookup *out, unsigned int count)
{
	unsigned int i = any(r->count);

	for (; count--; out++, i = i + 1 < r->count ? i + 1 : 0)
		*out = look_up_in(&r->at[i]);
}
