/* SPDX-License-Identifier: MIT */
/*
 * References to entries. Each thread counts its references in words that only this
 * thread writes. A fence pairs a reader's "count, then read the state" with a
 * writer's "set the state, then read the counts". Only the writer pays for the fence,
 * by membarrier(). Without membarrier(), references are counted in the entries.
 */
#ifndef PP_READER_H
#define PP_READER_H

#include <stdalign.h>
#include "entry.h"
#include "lib/sys/sys.h"

enum {
	PP_REFS = 32,		/* words of one thread for one cache */
	PP_SEATS = 64,		/* number of caches in a process that can have such words */
};

/**
 * struct pp_reader - one thread's references to entries of one cache
 * @refs: words: index of an entry (high half), number of references (low half); 0: free
 * @hits: for statistics; never reset, as other processes may read it (publish.h)
 * @before: value of @hits when the cache got this reader
 * @owner: number of the thread; 0: the thread has ended, and another thread may
 *	take over the reader with its counts
 * @next: next reader of the cache, or of the list of readers without a cache
 */
struct pp_reader {
	alignas(128) _Atomic uint64_t refs[PP_REFS];
	_Atomic uint64_t hits;
	uint64_t before;
	_Atomic uint64_t owner;
	struct pp_reader *next;
};

/**
 * struct pp_readers - all readers of one cache
 * @serial: number of the cache, unique in the process
 * @seat: index of the cache in each thread's table; PP_SEATS: all seats are taken,
 *	so all references are counted in the entries
 * @fence_is_lost: the last membarrier() failed, so counts may be missing; under the cache's lock
 * @first: list of the readers
 */
struct pp_readers {
	uint64_t serial;
	unsigned int seat;
	bool fence_is_lost;
	_Atomic(struct pp_reader *) first;
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
 */
struct pp_thread {
	uint64_t number;
	struct pp_seat seats[PP_SEATS + 1];
};

extern PP_HIDDEN __thread struct pp_thread *pp_thread_self __attribute__((tls_model("initial-exec")));

void pp_readers_init(struct pp_readers *readers);
void pp_readers_end(struct pp_readers *readers);

/* Make a reader for the calling thread. NULL: the thread counts in the entries */
struct pp_reader *pp_reader_make(struct pp_readers *readers);

uint64_t pp_readers_hits(const struct pp_readers *readers);

/*
 * A full barrier in all threads, by a system call; under the cache's lock. A thread
 * that counts a reference sees what the caller wrote before the call, or the caller
 * sees the count after the call.
 */
void pp_fence_heavy(struct pp_readers *readers);

/*
 * Number of users of an entry. First set a state that admits no new users, then call
 * pp_fence_heavy(). The result may include users that are leaving, and readers that
 * look at the entry in vain. So the result may be too high, but is never too low. If the
 * fence failed, every entry counts as used.
 */
int32_t pp_users(const struct pp_readers *readers, const struct pp_pool *pool, struct pp_entry *e);

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
