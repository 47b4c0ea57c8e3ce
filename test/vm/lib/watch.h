/* SPDX-License-Identifier: MIT */
/*
 * Caches of memory that another thread frees, and allocates again at the same address. The tests
 * recognise a stale hit by state that the cache itself does not read:
 * - SYNC_MEMOPS: a registration sets it on its allocation, and a new allocation lacks it;
 * - with a view: the bytes in the view.
 */
#ifndef TEST_WATCH_H
#define TEST_WATCH_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <libpeerpin.h>
#include "test/vm/cuda/cu.h"
#include "test/vm/core/view.h"

/** struct memory - a kind of allocations */
struct memory {
	size_t size;
	CUresult (*alloc)(CUdeviceptr *out, size_t size);
	CUresult (*free)(CUdeviceptr addr);
};

static inline CUresult pool_alloc(CUdeviceptr *out, size_t size)
{
	return cuMemAllocAsync(out, size, NULL);
}

static inline CUresult pool_free(CUdeviceptr addr)
{
	CUresult err = cuMemFreeAsync(addr, NULL);

	return err ? err : cuStreamSynchronize(NULL);
}

/* Call cuMemAlloc() and cuMemFree() by symbol, so that the hook sees the calls. */
static inline CUresult plain_alloc(CUdeviceptr *out, size_t size)
{
	return cuMemAlloc(out, size);
}

static inline CUresult plain_free(CUdeviceptr addr)
{
	return cuMemFree(addr);
}

static const struct memory big = { 4 << 20, plain_alloc, plain_free };
static const struct memory small = { 64 << 10, plain_alloc, plain_free };
static const struct memory pooled __attribute__((unused)) = { 64 << 10, pool_alloc, pool_free };

/* ---- the thread that frees ------------------------------------------------------------- */

enum phase {
	THERE,
	FREEING,
	FREED,
	ALLOCATING,
	PHASES,
};

enum {
	TRIES = 64,
	/* In one of this many rounds, the freeing thread waits until a get saw the freed memory. */
	ROUNDS_A_LOOK = 8,
	ROUNDS_AT_LEAST = 100,
};

/**
 * struct race - a cache against a thread that frees
 * @pins: context for views; NULL: no views
 * @now: phase + PHASES * number of earlier allocations
 * @seen: value of @now at the last get that was judged
 */
struct race {
	struct pp_cache *cache;
	struct pp_ctx *pins;
	const struct memory *memory;
	CUcontext cuda;
	CUdeviceptr addr;
	atomic_ulong now, seen;
	atomic_bool over, failed;
	unsigned long rounds, judged, stale, refused;
};

static inline unsigned char race_byte(unsigned long now)
{
	return now / PHASES % 251 + 1;
}

/* Allocate until the driver returns @addr again, then free the other allocations. */
static inline CUresult race_alloc_there(struct race *r)
{
	CUdeviceptr got[TRIES] = { 0 };
	int n = 0, found;

	while (n < TRIES && !r->memory->alloc(&got[n], r->memory->size) && got[n] != r->addr)
		n++;
	found = n < TRIES && got[n] == r->addr;
	while (n--)
		r->memory->free(got[n]);
	return found ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static inline void race_await(struct race *r)
{
	while (atomic_load(&r->seen) != atomic_load(&r->now) && !atomic_load(&r->over))
		sched_yield();
}

static inline CUresult race_fill(struct race *r)
{
	unsigned char byte = race_byte(atomic_load(&r->now));

	return cuMemcpyHtoD(r->addr, &byte, 1);
}

static inline CUresult race_round(struct race *r)
{
	CUresult err;

	race_await(r);
	atomic_fetch_add(&r->now, 1);
	err = r->memory->free(r->addr);
	atomic_fetch_add(&r->now, 1);
	if (r->rounds++ % ROUNDS_A_LOOK == 0)
		race_await(r);
	atomic_fetch_add(&r->now, 1);
	if (!err)
		err = race_alloc_there(r);
	if (!err)
		err = cuMemcpyHtoD(r->addr, &(unsigned char){ race_byte(atomic_load(&r->now) + 1) }, 1);
	atomic_fetch_add(&r->now, 1);
	return err;
}

static inline void *race_freer(void *arg)
{
	struct race *r = arg;

	if (cuCtxSetCurrent(r->cuda))
		atomic_store(&r->failed, true);
	while (!atomic_load(&r->over) && !atomic_load(&r->failed))
		if (race_round(r))
			atomic_store(&r->failed, true);
	return NULL;
}

/* ---- the thread that gets ---------------------------------------------------------------- */

static inline bool race_view_is(struct race *r, const struct pp_region *region, unsigned char byte)
{
	unsigned char got = 0;
	void *view;
	int sig;

	if (pp_region_map(r->pins, region, r->addr - region->addr, PAGE, PROT_READ, &view))
		return false;
	sig = view_get(view, &got);
	pp_region_unmap(r->pins, view, PAGE);
	return !sig && got == byte;
}

static inline bool race_is_current(struct race *r, const struct pp_cache_entry *e, unsigned long now)
{
	int sync = 0;

	if (now % PHASES != THERE)
		return false;
	if (cuPointerGetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, r->addr) || !sync)
		return false;
	return !r->pins || race_view_is(r, e->reg, race_byte(now));
}

/* Judge a get, unless the phase changed during the get. */
static inline void race_judge(struct race *r, unsigned long before, int ret, bool current)
{
	enum phase phase = before % PHASES;

	if ((phase != THERE && phase != FREED) || atomic_load(&r->now) != before)
		return;
	r->judged++;
	r->stale += !ret && !current;
	r->refused += ret && phase == THERE;
	atomic_store(&r->seen, before);
}

static inline void race_get(struct race *r)
{
	unsigned long before = atomic_load(&r->now);
	const struct pp_cache_entry *e;
	bool current = false;
	int ret = pp_cache_get(r->cache, (void *)r->addr, r->memory->size, &e, NULL);

	if (!ret)
		current = race_is_current(r, e, before);
	race_judge(r, before, ret, current);
	if (!ret)
		pp_cache_put(r->cache, e);
}

/* Go on until there were enough rounds and enough time: a busy CPU may give the other thread little time. */
static inline bool race_goes_on(struct race *r, unsigned long rounds, uint64_t end)
{
	unsigned long done = atomic_load(&r->now) / PHASES;

	return !atomic_load(&r->failed) && (done < rounds || now_ns() < end);
}

static inline void race_run(struct race *r, unsigned long rounds, unsigned int ms)
{
	uint64_t end = now_ns() + vmtest_rounds(ms) * 1000000ull;
	pthread_t freer;

	EXPECT(!pthread_create(&freer, NULL, race_freer, r), "pthread_create() failed");
	while (race_goes_on(r, vmtest_rounds(rounds), end))
		race_get(r);
	atomic_store(&r->over, true);
	pthread_join(freer, NULL);
	EXPECT(!atomic_load(&r->failed), "CUDA failed, or gave other addresses, in round %lu", r->rounds);
}

/* Run a race on @cache and destroy @cache. @neighbour keeps the block of small allocations. */
static inline void race(struct race *r, struct pp_cache *cache, struct pp_ctx *pins, const struct memory *memory,
			unsigned long rounds, unsigned int ms)
{
	CUdeviceptr neighbour;

	*r = (struct race){ .cache = cache, .pins = memory == &big ? pins : NULL, .memory = memory };
	OK(cuCtxGetCurrent(&r->cuda));
	OK(memory->alloc(&neighbour, memory->size));
	OK(memory->alloc(&r->addr, memory->size));
	OK(race_fill(r));
	race_run(r, rounds, ms);
	CHECK_CASE();
	OK(memory->free(r->addr));
	OK(memory->free(neighbour));
	pp_cache_destroy(cache);
	printf("# %lu times freed and allocated again, %lu gets judged, %lu stale\n", r->rounds, r->judged, r->stale);
}

static inline void race_expect_fresh(const struct race *r)
{
	EXPECT(r->judged >= r->rounds, "%lu rounds, %lu gets judged", r->rounds, r->judged);
	EXPECT(!r->stale, "%lu of %lu judged gets were stale", r->stale, r->judged);
	EXPECT(!r->refused, "%lu of %lu judged gets were refused", r->refused, r->judged);
}

#endif
