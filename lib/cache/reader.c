// SPDX-License-Identifier: MIT
/*
 * The memory of a reader is never freed, because a thread that ends after the cache
 * still has its address. Other caches reuse the readers of destroyed caches. A thread
 * that ends leaves its counts in the reader, because another thread may put the
 * references. A new thread of that cache takes the reader over, or the next count of
 * references moves the counts into the entries and removes the reader.
 */
#include <linux/membarrier.h>
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
static _Atomic uint64_t last_serial, last_thread, threads_ended;
static _Atomic uint64_t seats_taken[PP_SEATS / 64];
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

	for (i = 0; i < t->used; i++) {
		uint64_t mine = t->number;

		/*
		 * The reader may belong to another thread and another cache by now. Release: a thread that finds
		 * no @owner sees all counts of this thread.
		 */
		if (t->seats[i].reader)
			atomic_compare_exchange_strong_explicit(&t->seats[i].reader->owner, &mine, 0,
								memory_order_release, memory_order_relaxed);
	}
	/* release: a thread that reads this number finds the readers without @owner */
	atomic_fetch_add_explicit(&threads_ended, 1, memory_order_release);
	pp_thread_self = NULL;
	munmap(t, sizeof(*t));
}

/* Runs in a child of fork(), which may inherit a held lock, and can use no cache of the parent. */
static void start_anew(void)
{
	unsigned int i;

	pthread_mutex_init(&spare_lock, NULL);
	spare = NULL;
	for (i = 0; i < PP_SEATS / 64; i++)
		atomic_store_explicit(&seats_taken[i], 0, memory_order_relaxed);
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
		t->number = atomic_fetch_add_explicit(&last_thread, 1, memory_order_relaxed) + 1;
	pp_thread_self = t;
	return t;
}

/* ---- readers -------------------------------------------------------------------- */

static struct pp_reader *next_of(const struct pp_reader *r)
{
	return atomic_load_explicit(&r->next, memory_order_relaxed);
}

static struct pp_reader *take_spare(void)
{
	struct pp_reader *r;

	pthread_mutex_lock(&spare_lock);
	r = spare;
	if (r)
		spare = next_of(r);
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
	atomic_store_explicit(&r->owner, owner, memory_order_relaxed);
	return r;
}

/* Address of the pointer to a reader of a thread that has ended, in the list from @at on; or NULL. @lock is held. */
static _Atomic(struct pp_reader *) *search(_Atomic(struct pp_reader *) *at)
{
	struct pp_reader *r;

	for (; (r = atomic_load_explicit(at, memory_order_relaxed)); at = &r->next)
		if (!atomic_load_explicit(&r->owner, memory_order_acquire))	/* pairs with thread_end() */
			return at;
	return NULL;
}

/* Take over a reader of a thread that has ended. Searches only if a thread has ended since the last search in vain. */
static struct pp_reader *adopt(struct pp_readers *readers, uint64_t owner)
{
	_Atomic(struct pp_reader *) *at;
	struct pp_reader *r = NULL;
	uint64_t ended;

	pthread_mutex_lock(&readers->lock);
	ended = atomic_load_explicit(&threads_ended, memory_order_acquire);	/* pairs with thread_end() */
	at = readers->ended == ended ? NULL : search(&readers->first);
	if (at) {
		r = atomic_load_explicit(at, memory_order_relaxed);
		/* relaxed: search() reads @owner under @lock; thread_end() of another thread finds another number */
		atomic_store_explicit(&r->owner, owner, memory_order_relaxed);
	} else {
		readers->ended = ended;
	}
	pthread_mutex_unlock(&readers->lock);
	return r;
}

static void publish(struct pp_readers *readers, struct pp_reader *r)
{
	pthread_mutex_lock(&readers->lock);
	atomic_init(&r->next, atomic_load_explicit(&readers->first, memory_order_relaxed));
	atomic_store_explicit(&readers->first, r, memory_order_release);
	pthread_mutex_unlock(&readers->lock);
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
	if (!r)
		return NULL;
	t->seats[readers->seat] = (struct pp_seat){ r, readers->serial };
	t->used = t->used > readers->seat ? t->used : readers->seat + 1;
	return r;
}

/* Takes a free seat; PP_SEATS: none is free. Relaxed: a seat passes no data from one cache to the next. */
static unsigned int seat_take(void)
{
	unsigned int i;

	for (i = 0; i < PP_SEATS / 64; i++) {
		uint64_t taken = atomic_load_explicit(&seats_taken[i], memory_order_relaxed);

		while (~taken) {
			unsigned int seat = __builtin_ctzll(~taken);

			if (atomic_compare_exchange_weak_explicit(&seats_taken[i], &taken, taken | 1ull << seat,
								  memory_order_relaxed, memory_order_relaxed))
				return 64 * i + seat;
		}
	}
	return PP_SEATS;
}

static void seat_give(unsigned int seat)
{
	if (seat < PP_SEATS)
		atomic_fetch_and_explicit(&seats_taken[seat / 64], ~(1ull << seat % 64), memory_order_relaxed);
}

void pp_readers_init(struct pp_readers *readers)
{
	pthread_once(&once, init);
	readers->serial = atomic_fetch_add_explicit(&last_serial, 1, memory_order_relaxed) + 1;
	readers->seat = seat_take();
	readers->fence_is_lost = false;
	readers->tallied = PP_NO_TALLY;
	readers->ended = 0;
	readers->hits = 0;
	pthread_mutex_init(&readers->lock, NULL);
	atomic_init(&readers->first, NULL);
}

static void make_spare(struct pp_reader *r)
{
	if (pp_publish_give(r))
		return;
	pthread_mutex_lock(&spare_lock);
	atomic_init(&r->next, spare);
	spare = r;
	pthread_mutex_unlock(&spare_lock);
}

/* No thread uses the cache any more. The next cache on its seat has another serial, so old seats do not match. */
void pp_readers_end(struct pp_readers *readers)
{
	struct pp_reader *r = atomic_load_explicit(&readers->first, memory_order_relaxed), *next;

	for (; r; r = next) {
		next = next_of(r);
		make_spare(r);
	}
	seat_give(readers->seat);
	pthread_mutex_destroy(&readers->lock);
}

static uint64_t hits_of(const struct pp_reader *r)
{
	return atomic_load_explicit(&r->hits, memory_order_relaxed) - r->before;
}

uint64_t pp_readers_hits(struct pp_readers *readers)
{
	const struct pp_reader *r;
	uint64_t hits;

	pthread_mutex_lock(&readers->lock);
	hits = readers->hits;
	for (r = atomic_load_explicit(&readers->first, memory_order_relaxed); r; r = next_of(r))
		hits += hits_of(r);
	pthread_mutex_unlock(&readers->lock);
	return hits;
}

/* ---- the count of references ------------------------------------------------------- */

/*
 * Moves the counts of a thread that has ended into the entries. The cache's lock keeps others from adding up meanwhile.
 * Relaxed: search() has acquired the counts, and this thread adds up afterwards.
 */
static void move_counts(struct pp_reader *r, const struct pp_pool *pool)
{
	unsigned int i;

	for (i = 0; i < PP_REFS; i++) {
		uint64_t ref = atomic_load_explicit(&r->refs[i], memory_order_relaxed);

		if (ref)
			atomic_fetch_add_explicit(&pp_entry_at(pool, ref >> 32)->shared, (int32_t)(uint32_t)ref,
						  memory_order_relaxed);
	}
}

static void remove_ended(struct pp_readers *readers, const struct pp_pool *pool)
{
	_Atomic(struct pp_reader *) *at = &readers->first;
	uint64_t ended;

	pthread_mutex_lock(&readers->lock);
	ended = atomic_load_explicit(&threads_ended, memory_order_acquire);	/* pairs with thread_end() */
	while (readers->ended != ended && (at = search(at))) {
		struct pp_reader *r = atomic_load_explicit(at, memory_order_relaxed);

		move_counts(r, pool);
		readers->hits += hits_of(r);
		atomic_store_explicit(at, next_of(r), memory_order_relaxed);
		make_spare(r);
	}
	readers->ended = ended;
	pthread_mutex_unlock(&readers->lock);
}

static void tally_clear(struct pp_readers *readers, const struct pp_pool *pool)
{
	uint32_t next;

	for (; readers->tallied != PP_NO_TALLY; readers->tallied = next) {
		struct pp_tally *t = &pool->tally[readers->tallied];

		next = t->next;
		*t = (struct pp_tally){ 0 };
	}
}

static void tally_add(struct pp_readers *readers, const struct pp_pool *pool, uint64_t ref)
{
	struct pp_tally *t = &pool->tally[ref >> 32];

	if (!t->next) {
		t->next = readers->tallied;
		readers->tallied = ref >> 32;
	}
	t->users += (uint32_t)ref;
}

void pp_readers_count(struct pp_readers *readers, const struct pp_pool *pool)
{
	const struct pp_reader *r;
	unsigned int i;

	remove_ended(readers, pool);
	tally_clear(readers, pool);
	for (r = atomic_load_explicit(&readers->first, memory_order_acquire); r; r = next_of(r)) {
		for (i = 0; i < PP_REFS; i++) {
			/* acquire: pairs with pp_ref_set(), also if the word is free now */
			uint64_t ref = atomic_load_explicit(&r->refs[i], memory_order_acquire);

			if (ref)
				tally_add(readers, pool, ref);
		}
	}
}
