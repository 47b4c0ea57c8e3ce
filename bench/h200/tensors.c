// SPDX-License-Identifier: MIT
/*
 * Acts like a communication library beside PyTorch. A thread registers each offered tensor, in a
 * cache of dma-bufs with the hook as its watch. If told to check, the thread checks the cache by CUDA's
 * buffer ids, which the cache does not query on a hit, and checks the hook by counting "untold"
 * allocations, which ended without a callback before. The checks cost more than the registrations.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <libpeerpin-hook.h>
#include <libpeerpin.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum {
	RING = 1024,		/* tensors offered but not yet registered */
	KNOWN = 4096,		/* known registrations; watched allocations */
	TOLD = 4096,
	SWEEP_EVERY = 64,
	SETTLED_NS = 100000000,
};

/** struct tensors_counts - counts of the thread; bench/h200_torch.py has the same struct */
struct tensors_counts {
	uint64_t offered, dropped;		/* tensors; dropped because the ring was full */
	uint64_t registered, refused, beyond;	/* gets; beyond: refused, not in one allocation any more */
	int64_t refusal;			/* -errno of the last refused get */
	uint64_t hits, misses;
	uint64_t judged, stale;			/* hits with a known id; hits with a different id */
	uint64_t told, told_all, told_gone;	/* callbacks; those for all memory; those for already freed memory */
	uint64_t vanished, untold;		/* watched ids that ended; those that ended without a callback before */
	uint64_t busy_ns;			/* of the thread, in gets and puts */
	uint64_t offer_ns, told_ns;		/* of the program's threads, in tensors_offer() and in the cache's callbacks */
};

struct range {
	uint64_t addr, length;
};

/** struct registered - a known registration of the mapping at @base; @id: buffer id while @entry lives; 0: not known */
struct registered {
	const struct pp_cache_entry *entry;
	uint64_t base;
	uint64_t id;
};

/** struct watched - an allocation; before its end a callback must set @told. @id 0: unused element */
struct watched {
	uint64_t addr, id;
	bool told;
};

struct told {
	struct range range;
	uint64_t at;
};

static struct tensors_counts counts;
static struct range ring[RING];
static unsigned long head, tail;
static bool running, over, checked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects the ring */
static pthread_t thread;
static struct pp_cache *cache;
static CUcontext cuda;

static struct registered known[KNOWN];		/* used by the thread only */
static struct watched watched[KNOWN];
static struct told told[TOLD];
static unsigned long told_count;
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;	/* protects watched, told and their counts */

int tensors_start(bool check);
void tensors_offer(uint64_t addr, uint64_t length);
void tensors_drain(void);
void tensors_stop(struct tensors_counts *out);

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint64_t id_of(uint64_t addr)
{
	unsigned long long id = 0;

	return cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, addr) ? 0 : id;
}

static bool lies_in(uint64_t addr, const struct range *r)
{
	return addr - r->addr < r->length;
}

/* ---- does a callback precede each free? ---------------------------------------------------- */

static void gone(void *arg, uint64_t addr, uint64_t length)
{
	const struct range range = { addr, length };
	bool all = length == UINT64_MAX, there = all || id_of(addr);

	(void)arg;
	pthread_mutex_lock(&watch_lock);
	counts.told++;
	counts.told_all += all;
	counts.told_gone += !there;
	told[told_count++ % TOLD] = (struct told){ range, now_ns() };
	for (unsigned int i = 0; i < KNOWN; i++)
		if (watched[i].id && lies_in(watched[i].addr, &range))
			watched[i].told = true;
	pthread_mutex_unlock(&watch_lock);
}

/* Memory is not watched between its callback and the end of its free: it would count as untold. */
static bool is_going(uint64_t addr)
{
	uint64_t now = now_ns();

	for (unsigned int i = 0; i < TOLD; i++)
		if (told[i].at && now - told[i].at < SETTLED_NS && lies_in(addr, &told[i].range))
			return true;
	return false;
}

static void watch(uint64_t addr)
{
	struct watched *w = &watched[(addr >> 21) % KNOWN];
	uint64_t id;

	pthread_mutex_lock(&watch_lock);
	id = id_of(addr);
	if (!w->id && id && !is_going(addr))
		*w = (struct watched){ addr, id, false };
	pthread_mutex_unlock(&watch_lock);
}

static void sweep(void)
{
	pthread_mutex_lock(&watch_lock);
	for (unsigned int i = 0; i < KNOWN; i++) {
		if (!watched[i].id || id_of(watched[i].addr) == watched[i].id)
			continue;
		counts.vanished++;
		counts.untold += !watched[i].told;
		watched[i].id = 0;
	}
	pthread_mutex_unlock(&watch_lock);
}

/* ---- how long do the cache's callbacks take? ------------------------------------------------- */

static _Thread_local uint64_t tell_start;

/* The hook calls its subscribers in the order in which they were added. The cache subscribes between these two. */
static void before_cache(void *arg, uint64_t addr, uint64_t length)
{
	(void)arg, (void)addr, (void)length;
	tell_start = now_ns();
}

static void after_cache(void *arg, uint64_t addr, uint64_t length)
{
	(void)arg, (void)addr, (void)length;
	__atomic_fetch_add(&counts.told_ns, now_ns() - tell_start, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counts.told, 1, __ATOMIC_RELAXED);
}

/* ---- is each hit valid? --------------------------------------------------------------------- */

static uint64_t base_of(uint64_t addr)
{
	struct pp_mem mem;

	return pp_query((void *)(uintptr_t)addr, &mem) ? 0 : mem.base;
}

static struct registered *remembered(const struct pp_cache_entry *e, uint64_t base)
{
	for (unsigned int i = ((uintptr_t)e / 64 + base / 4096) % KNOWN, n = 0; n < KNOWN; i = (i + 1) % KNOWN, n++)
		if ((known[i].entry == e && known[i].base == base) || !known[i].entry)
			return &known[i];
	return NULL;
}

/* The cache uses @e for a new registration. */
static void forget(const struct pp_cache_entry *e)
{
	for (unsigned int i = 0; i < KNOWN; i++)
		if (known[i].entry == e)
			known[i].id = 0;
}

static uint64_t misses(void)
{
	struct pp_cache_stats s;

	pp_cache_stats(cache, &s);
	return s.misses;
}

/*
 * @before: buffer id before the get. If the id is the same afterwards, the memory existed all the time.
 * An entry may span several mappings, each with an id of its own.
 */
static void judge(const struct pp_cache_entry *e, const struct range *r, uint64_t before, bool hit)
{
	uint64_t base = base_of(r->addr);
	struct registered *k = remembered(e, base);
	uint64_t id = id_of(r->addr) == before ? before : 0;

	counts.hits += hit;
	counts.misses += !hit;
	if (!hit)
		forget(e);
	if (!k || !id)
		return;
	if (k->id) {
		counts.judged++;
		counts.stale += k->id != id;
	} else {
		*k = (struct registered){ e, base, id };
	}
}

static bool is_one_allocation(const struct range *r)
{
	CUdeviceptr base;
	size_t size;

	return !cuMemGetAddressRange(&base, &size, r->addr) && r->addr + r->length <= base + size;
}

static bool was_there(const struct range *r, uint64_t before)
{
	bool there = before && id_of(r->addr) == before;

	pthread_mutex_lock(&watch_lock);
	there = there && !is_going(r->addr);
	pthread_mutex_unlock(&watch_lock);
	return there;
}

/* A refusal is no error if the memory was freed, or was being freed, before the check. */
static void count_refusal(const struct range *r, uint64_t before, int ret)
{
	bool one = is_one_allocation(r);

	if (!was_there(r, before))
		return;
	counts.beyond += !one;
	counts.refused += one;
	if (one)
		counts.refusal = ret;
}

static void register_only(const struct range *r)
{
	const struct pp_cache_entry *e;
	uint64_t start = now_ns();
	int ret = pp_cache_get(cache, (void *)(uintptr_t)r->addr, r->length, &e, NULL);

	if (!ret)
		pp_cache_put(cache, e);
	counts.busy_ns += now_ns() - start;
	counts.registered += !ret;
}

static void register_and_check(const struct range *r)
{
	const struct pp_cache_entry *e;
	uint64_t before = id_of(r->addr), missed = misses();
	int ret = pp_cache_get(cache, (void *)(uintptr_t)r->addr, r->length, &e, NULL);

	if (ret) {
		count_refusal(r, before, ret);
		return;
	}
	counts.registered++;
	judge(e, r, before, misses() == missed);
	pp_cache_put(cache, e);
	watch(r->addr);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Polls, as the thread of a communication library does, so that an offer needs no system call to wake the thread. */
static bool take(struct range *out)
{
	bool got, end;

	do {
		while (__atomic_load_n(&head, __ATOMIC_RELAXED) == tail && !__atomic_load_n(&over, __ATOMIC_RELAXED))
			;
		pthread_mutex_lock(&lock);
		end = over;
		got = head != tail;
		if (got)
			*out = ring[tail++ % RING];
		pthread_mutex_unlock(&lock);
	} while (!got && !end);
	return got;
}

static void *serve(void *arg)
{
	struct range r;

	cuCtxSetCurrent(cuda);
	for (unsigned int n = 0; take(&r); n++) {
		if (!checked) {
			register_only(&r);
			continue;
		}
		register_and_check(&r);
		if (n % SWEEP_EVERY == 0)
			sweep();
	}
	return arg;
}

/* The hook is preloaded, or it is absent. */
static int add_hook(void (*callback)(void *arg, uint64_t addr, uint64_t length))
{
	typeof(pp_hook_add) *add = (typeof(pp_hook_add) *)dlsym(RTLD_DEFAULT, "pp_hook_add");

	return add ? add(callback, NULL) : -EOPNOTSUPP;
}

static void remove_hook(void (*callback)(void *arg, uint64_t addr, uint64_t length))
{
	((typeof(pp_hook_remove) *)dlsym(RTLD_DEFAULT, "pp_hook_remove"))(callback, NULL);
}

/*
 * Start the thread, with all counts 0. CUDA must be initialised, with a current context. Returns 0 or -errno;
 * after an error the process must end.
 */
int tensors_start(bool check)
{
	const struct pp_cache_attr attr = { .watch = PP_WATCH_HOOK };
	int ret;

	if (cuCtxGetCurrent(&cuda) || !cuda)
		return -EINVAL;
	memset(&counts, 0, sizeof(counts));
	head = tail = 0;
	over = false;
	checked = check;
	ret = check ? 0 : add_hook(before_cache);
	if (!ret)
		ret = pp_cache_create_dmabuf(&attr, &cache);
	if (!ret)
		ret = add_hook(check ? gone : after_cache);
	if (!ret)
		ret = -pthread_create(&thread, NULL, serve, NULL);
	running = !ret;
	return ret;
}

/* Called for each tensor that is "sent". Does nothing unless the thread runs. */
void tensors_offer(uint64_t addr, uint64_t length)
{
	uint64_t start;

	if (!running)
		return;
	start = now_ns();
	pthread_mutex_lock(&lock);
	counts.offered++;
	if (head - tail < RING) {
		ring[head % RING] = (struct range){ addr, length };
		__atomic_store_n(&head, head + 1, __ATOMIC_RELAXED);
	} else {
		counts.dropped++;
	}
	counts.offer_ns += now_ns() - start;
	pthread_mutex_unlock(&lock);
}

/* Wait until all offered tensors are processed. */
void tensors_drain(void)
{
	bool empty = !running;

	while (!empty) {
		pthread_mutex_lock(&lock);
		empty = head == tail;
		pthread_mutex_unlock(&lock);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/* End the thread, which may be started again. Without a thread all counts are 0. */
void tensors_stop(struct tensors_counts *out)
{
	memset(out, 0, sizeof(*out));
	if (!running)
		return;
	pthread_mutex_lock(&lock);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	running = false;
	if (checked) {
		sweep();
		remove_hook(gone);
	} else {
		remove_hook(before_cache);
		remove_hook(after_cache);
	}
	pp_cache_destroy(cache);
	*out = counts;
}
