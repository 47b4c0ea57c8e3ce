// SPDX-License-Identifier: MIT
/*
 * The memory of a reader is never freed, because a thread that ends after the cache
 * still has its address. Other caches reuse the readers of destroyed caches. A thread
 * that ends leaves its counts in the reader, because another thread may put the
 * references. The next new thread of that cache takes the reader over.
 */
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lib/sys/cancel.h"
#include "publish.h"
#include "reader.h"
#include "lib/sys/sys.h"

__thread struct pp_thread *pp_thread_self __attribute__((tls_model("initial-exec")));

static bool has_membarrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static bool has_key;		/* false: no thread has readers */
static _Atomic uint64_t last_serial, last_thread;
static _Atomic uint64_t seats_taken;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pp_reader *spare;		/* under @spare_lock */

/* ---- the fence ------------------------------------------------------------------ */

static bool membarrier(int cmd)
{
	return !syscall(SYS_membarrier, cmd, 0, 0);
}

static bool fence_register(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

/* A child of fork() may have to register for membarrier() again. */
static bool fence(void)
{
	return !has_membarrier ||	/* then counts and states are seq_cst */
	       membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
	       (fence_register() && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

/*
 * The fence fails if seccomp has forbidden membarrier() after init(). Then all entries
 * count as used and none is unpinned, until a later fence succeeds.
 */
void pp_fence_heavy(struct pp_readers *readers)
{
	readers->fence_is_lost = !fence();
}

/* ---- threads -------------------------------------------------------------------- */

static void thread_end(void *arg)
{
	struct pp_thread *t = arg;
	unsigned int i;

	for (i = 0; i < PP_SEATS; i++) {
		uint64_t mine = t->number;

		/* the reader may belong to another thread and another cache by now */
		if (t->seats[i].reader)
			atomic_compare_exchange_strong(&t->seats[i].reader->owner, &mine, 0);
	}
	pp_thread_self = NULL;
	munmap(t, sizeof(*t));
}

/* Runs in a child of fork(), which may inherit a held lock, and can use no cache of the parent. */
static void start_anew(void)
{
	pthread_mutex_init(&spare_lock, NULL);
	spare = NULL;
	atomic_store(&seats_taken, 0);
}

static void init(void)
{
	has_membarrier = fence_register();
	has_key = !pthread_key_create(&thread_key, thread_end);
	pthread_atfork(NULL, NULL, start_anew);
}

static struct pp_thread *thread_map(void)
{
	void *at = MAP_FAILED;

	if (has_key)
		at = mmap(NULL, sizeof(struct pp_thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	if (!madvise(at, sizeof(struct pp_thread), MADV_WIPEONFORK) && !pthread_setspecific(thread_key, at))
		return at;
	munmap(at, sizeof(struct pp_thread));
	return NULL;
}

/* In a child of fork() the number has been wiped to 0, so the thread gets a new number. */
static struct pp_thread *thread_here(void)
{
	struct pp_thread *t = pp_thread_self ? pp_thread_self : thread_map();

	if (t && !t->number)
		t->number = atomic_fetch_add(&last_thread, 1) + 1;
	pp_thread_self = t;
	return t;
}

/* ---- readers -------------------------------------------------------------------- */

static struct pp_reader *take_spare(void)
{
	struct pp_reader *r;

	pthread_mutex_lock(&spare_lock);
	r = spare;
	if (r)
		spare = r->next;
	pthread_mutex_unlock(&spare_lock);
	return r;
}

static struct pp_reader *reader_memory(void)
{
	struct pp_reader *r = pp_publish_take();

	if (!r)
		r = take_spare();
	if (r)
		return r;
	r = aligned_alloc(alignof(struct pp_reader), sizeof(*r));
	if (r)
		atomic_init(&r->hits, 0);
	return r;
}

static struct pp_reader *reader_new(uint64_t owner)
{
	struct pp_reader *r = reader_memory();
	unsigned int i;

	if (!r)
		return NULL;
	for (i = 0; i < PP_REFS; i++)
		atomic_init(&r->refs[i], 0);
	r->before = atomic_load_explicit(&r->hits, memory_order_relaxed);
	atomic_store(&r->owner, owner);
	return r;
}

/* Take over a reader of a thread that has ended. */
static struct pp_reader *adopt(struct pp_readers *readers, uint64_t owner)
{
	struct pp_reader *r = atomic_load_explicit(&readers->first, memory_order_acquire);
	uint64_t nobody = 0;

	for (; r; r = r->next, nobody = 0)
		if (!atomic_load_explicit(&r->owner, memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&r->owner, &nobody, owner))
			return r;
	return NULL;
}

/* Readers are never removed from the list, so it can be walked without a lock. */
static void publish(struct pp_readers *readers, struct pp_reader *r)
{
	r->next = atomic_load_explicit(&readers->first, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&readers->first, &r->next, r, memory_order_release,
						      memory_order_relaxed))
		;
}

static struct pp_reader *reader_for(struct pp_readers *readers, uint64_t owner)
{
	struct pp_reader *r = adopt(readers, owner);

	if (r)
		return r;
	r = reader_new(owner);
	if (r)
		publish(readers, r);
	return r;
}

struct pp_reader *pp_reader_make(struct pp_readers *readers)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_thread *t = thread_here();
	struct pp_reader *r;

	if (!t || !has_membarrier || readers->seat == PP_SEATS)
		return NULL;
	r = reader_for(readers, t->number);
	if (r)
		t->seats[readers->seat] = (struct pp_seat){ r, readers->serial };
	return r;
}

/* Takes a free seat; PP_SEATS: none is free */
static unsigned int seat_take(void)
{
	uint64_t taken = atomic_load(&seats_taken);

	while (~taken) {
		unsigned int seat = __builtin_ctzll(~taken);

		if (atomic_compare_exchange_weak(&seats_taken, &taken, taken | 1ull << seat))
			return seat;
	}
	return PP_SEATS;
}

static void seat_give(unsigned int seat)
{
	if (seat < PP_SEATS)
		atomic_fetch_and(&seats_taken, ~(1ull << seat));
}

void pp_readers_init(struct pp_readers *readers)
{
	pthread_once(&once, init);
	readers->serial = atomic_fetch_add(&last_serial, 1) + 1;
	readers->seat = seat_take();
	atomic_init(&readers->first, NULL);
}

static void make_spare(struct pp_reader *r)
{
	if (pp_publish_give(r))
		return;
	pthread_mutex_lock(&spare_lock);
	r->next = spare;
	spare = r;
	pthread_mutex_unlock(&spare_lock);
}

/* No thread uses the cache any more. The next cache on its seat has another serial, so old seats do not match. */
void pp_readers_end(struct pp_readers *readers)
{
	struct pp_reader *r = atomic_load(&readers->first), *next;

	for (; r; r = next) {
		next = r->next;
		make_spare(r);
	}
	seat_give(readers->seat);
}

uint64_t pp_readers_hits(const struct pp_readers *readers)
{
	const struct pp_reader *r = atomic_load_explicit(&readers->first, memory_order_acquire);
	uint64_t hits = 0;

	for (; r; r = r->next)
		hits += atomic_load_explicit(&r->hits, memory_order_relaxed) - r->before;
	return hits;
}

static uint32_t counted(const struct pp_reader *r, uint32_t index, unsigned int n)
{
	uint64_t ref = atomic_load_explicit(pp_ref_place(r, index, n), memory_order_seq_cst);

	return ref >> 32 == index ? (uint32_t)ref : 0;
}

/* The sum is modulo 2^32, as counts wrap if one thread gets and another puts. There are never 2^31 users. */
int32_t pp_users(const struct pp_readers *readers, const struct pp_pool *pool, struct pp_entry *e)
{
	const struct pp_reader *r = atomic_load_explicit(&readers->first, memory_order_acquire);
	uint32_t index = pp_entry_index(pool, e);
	uint32_t users = (uint32_t)atomic_load_explicit(&e->shared, memory_order_seq_cst);

	for (; r; r = r->next) {
		users += counted(r, index, 0);
		if (pp_ref_place(r, index, 1) != pp_ref_place(r, index, 0))
			users += counted(r, index, 1);
	}
	return readers->fence_is_lost ? INT32_MAX : (int32_t)users;
}
