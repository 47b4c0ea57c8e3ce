/* SPDX-License-Identifier: MIT */
/*
 * References to entries. Each thread counts its references in words that only this
 * thread writes. A fence pairs a reader's "count, then read the state" with a
 * writer's "set the state, then read the counts". Only the writer pays for the fence,
 * by membarrier(). Without membarrier(), references are counted in the entries.
 *
 * A writer counts the references of all threads once for all entries that it asks about. So
 * the count costs a walk over the threads, however many the entries are.
 */
#ifndef PP_READER_H
#define PP_READER_H

#include <pthread.h>
#include <stdalign.h>
#include "entry.h"
#include "lib/sys/sys.h"

enum {
	PP_REFS = 32,		/* words of one thread for one cache */
	PP_SEATS = 1024,	/* number of caches in a process that can have such words */
};

/**
 * struct pp_reader - one thread's references to entries of one cache
 * @refs: words: index of an entry (high half), number of references (low half); 0: free
 * @hits: for statistics; never reset, as other processes may read it (publish.h)
 * @before: value of @hits when the cache got this reader
 * @owner: number of the thread; 0: the thread has ended. Another thread may take over
 *	the reader with its counts, or a count of references removes the reader
 * @next: next reader of the cache, or of the list of readers without a cache. In another
 *	cache line than @hits, because a count of references reads it
 */
struct pp_reader {
	alignas(128) _Atomic uint64_t refs[PP_REFS];
	_Atomic uint64_t hits;
	uint64_t before;
	alignas(64) _Atomic uint64_t owner;
	_Atomic(struct pp_reader *) next;
};

/**
 * struct pp_readers - all readers of one cache
 * @serial: number of the cache, unique in the process
 * @seat: index of the cache in each thread's table; PP_SEATS: all seats are taken,
 *	so all references are counted in the entries
 * @fence_is_lost: the last membarrier() failed, so counts may be missing; under the cache's lock
 * @tallied: first entry with a sum in the pool's @tally; under the cache's lock
 * @lock: protects the fields below; may be taken inside the cache's lock
 * @first: list of the readers. Readers are removed only with both locks held, so the list can
 *	be walked with either
 * @ended: threads of the process that had ended when the list was last searched for their readers
 * @hits: hits of removed readers
 */
struct pp_readers {
	uint64_t serial;
	unsigned int seat;
	bool fence_is_lost;
	uint32_t tallied;
	pthread_mutex_t lock;
	_Atomic(struct pp_reader *) first;
	uint64_t ended;
	uint64_t hits;
};

struct pp_seat {
	struct pp_reader *reader;
	uint64_t serial;
};

/**
 * struct pp_thread - a thread's readers
 *
 * The kernel zeroes this structure in a child of fork(), which may use none of the
 * parent's caches. So if a thread finds a reader here, its process owns the cache.
 *
 * @used: number of the first elements of @seats among which all readers are
 */
struct pp_thread {
	uint64_t number;
	unsigned int used;
	struct pp_seat seats[PP_SEATS + 1];
};

extern PP_HIDDEN __thread struct pp_thread *pp_thread_self __attribute__((tls_model("initial-exec")));

void pp_readers_init(struct pp_readers *readers);
void pp_readers_end(struct pp_readers *readers);

/* Make a reader for the calling thread. NULL: the thread counts in the entries */
struct pp_reader *pp_reader_make(struct pp_readers *readers);

uint64_t pp_readers_hits(struct pp_readers *readers);

/*
 * A full barrier in all threads, by a system call; under the cache's lock. A thread
 * that counts a reference sees what the caller wrote before the call, or the caller
 * sees the count after the call.
 */
void pp_fence_heavy(struct pp_readers *readers);

/* Count the references in the words of all threads, for pp_users(); under the cache's lock. */
void pp_readers_count(struct pp_readers *readers, const struct pp_pool *pool);

/*
 * Number of users of an entry. First set a state that admits no new users, then call
 * pp_fence_heavy(), then pp_readers_count(); one call of each serves any number of entries.
 * The result may include users that are leaving, and readers that look at the entry in
 * vain. So the result may be too high, but is never too low. If the fence failed, every
 * entry counts as used.
 *
 * Exception: a COLD entry that has become LIVE. A thread may have got it after the count of
 * that thread's words, and another thread may have put it.
 */
static inline int32_t pp_users(const struct pp_readers *readers, const struct pp_pool *pool, struct pp_entry *e)
{
	/* modulo 2^32, as counts wrap if one thread gets and another puts; there are never 2^31 users */
	uint32_t users = pool->tally[pp_entry_index(pool, e)].users +
			 (uint32_t)atomic_load_explicit(&e->shared, memory_order_seq_cst);

	return readers->fence_is_lost ? INT32_MAX : (int32_t)users;
}

/* The calling thread's reader if it exists already, or NULL */
static inline struct pp_reader *pp_reader_at_hand(const struct pp_readers *readers)
{
	const struct pp_thread *t = pp_thread_self;

	if (__builtin_expect(!t, 0))
		return NULL;
	return t->seats[readers->seat].serial == readers->serial ? t->seats[readers->seat].reader : NULL;
}

/* The calling thread's reader, or NULL: the thread counts in the entries */
static inline struct pp_reader *pp_reader_here(struct pp_readers *readers)
{
	struct pp_reader *r = pp_reader_at_hand(readers);

	return r ? r : pp_reader_make(readers);
}

static inline _Atomic uint64_t *pp_ref_place(const struct pp_reader *r, uint32_t index, unsigned int n)
{
	unsigned int at = n ? index / PP_REFS + 7 : index;

	return (_Atomic uint64_t *)&r->refs[at % PP_REFS];
}

/*
 * Release: a thread that finds no reference to an entry sees all that former users
 * did with the entry.
 */
static inline void pp_ref_set(_Atomic uint64_t *place, uint64_t ref)
{
	atomic_store_explicit(place, ref, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);	/* pairs with pp_fence_heavy() */
}

static inline uint64_t pp_ref_one(uint32_t index)
{
	return (uint64_t)index << 32 | 1;
}

/* The usual cases: pp_ref_add() finds no reference at @place, pp_ref_sub() finds one. */
static inline bool pp_ref_add(_Atomic uint64_t *place, uint32_t index)
{
	uint64_t ref = atomic_load_explicit(place, memory_order_relaxed);

	if (__builtin_expect(!ref, 1))
		pp_ref_set(place, pp_ref_one(index));
	else if (ref >> 32 == index && (uint32_t)ref != UINT32_MAX)
		pp_ref_set(place, ref + 1);
	else
		return false;
	return true;
}

static inline bool pp_ref_sub(_Atomic uint64_t *place, uint32_t index)
{
	uint64_t ref = atomic_load_explicit(place, memory_order_relaxed);

	if (__builtin_expect(ref == pp_ref_one(index), 1))
		pp_ref_set(place, 0);
	else if (ref && ref >> 32 == index)
		pp_ref_set(place, ref - 1);
	else
		return false;
	return true;
}

/* @r: the calling thread's reader, or NULL */
static inline void pp_ref_get(struct pp_reader *r, struct pp_entry *e, uint32_t index)
{
	if (r && (pp_ref_add(pp_ref_place(r, index, 0), index) || pp_ref_add(pp_ref_place(r, index, 1), index)))
		return;
	atomic_fetch_add_explicit(&e->shared, 1, memory_order_seq_cst);
}

/*
 * May put a reference that another thread got. Lowers the caller's own count of the entry
 * or, if that is 0, @shared, which may become negative.
 */
static inline void pp_ref_put(struct pp_reader *r, struct pp_entry *e, uint32_t index)
{
	if (r && (pp_ref_sub(pp_ref_place(r, index, 0), index) || pp_ref_sub(pp_ref_place(r, index, 1), index)))
		return;
	atomic_fetch_sub_explicit(&e->shared, 1, memory_order_seq_cst);
}

#endif
