/* SPDX-License-Identifier: MIT */
/*
 * References to entries, counted by the thread that takes them, in words that
 * it alone writes; and the fence that pairs a reader's "count, then look at the
 * state" with a writer's "set the state, then look at the counts". The writer
 * pays for both, by membarrier(). Where the kernel has none, references are
 * counted in the entries, atomically.
 */
#ifndef PP_READER_H
#define PP_READER_H

#include <stdalign.h>
#include "entry.h"
#include "lib/sys/sys.h"

enum {
	PP_REFS = 32,		/* words of a thread for one cache */
	PP_SEATS = 64,		/* caches of a process whose readers have words */
};

/**
 * struct pp_reader - one thread's references to entries of one cache
 * @refs: each an entry's index (high half) and how many references (low half);
 *	0: free
 * @hits: counted for statistics; never set back, as others may be looking on
 *	(publish.h)
 * @before: what they were when it became this cache's
 * @owner: number of the thread, or 0: that has ended, and another may go on
 *	with what it has counted
 * @next: in the cache's list, or in that of readers without a cache
 */
struct pp_reader {
	alignas(128) _Atomic uint64_t refs[PP_REFS];
	_Atomic uint64_t hits;
	uint64_t before;
	_Atomic uint64_t owner;
	struct pp_reader *next;
};

/**
 * struct pp_readers - those of one cache
 * @serial: names the cache; no two caches of a process have the same
 * @seat: its place in each thread's table; PP_SEATS: it got none, so that all
 *	references are counted in entries
 * @fence_is_lost: counts mean nothing; under the cache's lock
 * @first: its readers
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
 * Wiped in a child of fork(), whose caches it has none of: so who finds a reader
 * here need not ask whose process this is.
 */
struct pp_thread {
	uint64_t number;
	struct pp_seat seats[PP_SEATS + 1];
};

extern PP_HIDDEN __thread struct pp_thread *pp_thread_self __attribute__((tls_model("initial-exec")));

void pp_readers_init(struct pp_readers *readers);
void pp_readers_end(struct pp_readers *readers);

/* NULL: it has none, and none can be made */
struct pp_reader *pp_reader_make(struct pp_readers *readers);

uint64_t pp_readers_hits(const struct pp_readers *readers);

/*
 * Every thread that has counted sees what the caller has written, or the caller
 * sees its count. A system call. Under the cache's lock.
 */
void pp_fence_heavy(struct pp_readers *readers);

/*
 * How many users an entry has; after its state was set so that none can be added
 * and pp_fence_heavy() was called. Users that go meanwhile may be counted, and
 * readers that look at the entry in vain; so it is too high, or right. If the
 * fence did not work everything is in use.
 */
int32_t pp_users(const struct pp_readers *readers, const struct pp_pool *pool, struct pp_entry *e);

/* The calling thread's if it is at hand, or NULL */
static inline struct pp_reader *pp_reader_at_hand(const struct pp_readers *readers)
{
	const struct pp_thread *t = pp_thread_self;

	if (__builtin_expect(!t, 0))
		return NULL;
	return t->seats[readers->seat].serial == readers->serial ? t->seats[readers->seat].reader : NULL;
}

/* The calling thread's, or NULL: it counts in entries */
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
 * Own words are written with release: who finds an entry uncounted sees all that
 * its users have done.
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

/* Of what is there, none and one are the usual. */
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

/* @r: the calling thread's, or NULL */
static inline void pp_ref_get(struct pp_reader *r, struct pp_entry *e, uint32_t index)
{
	if (r && (pp_ref_add(pp_ref_place(r, index, 0), index) || pp_ref_add(pp_ref_place(r, index, 1), index)))
		return;
	atomic_fetch_add_explicit(&e->shared, 1, memory_order_seq_cst);
}

/* Also of a reference that another thread has got: then this one's count goes, or @shared is below 0. */
static inline void pp_ref_put(struct pp_reader *r, struct pp_entry *e, uint32_t index)
{
	if (r && (pp_ref_sub(pp_ref_place(r, index, 0), index) || pp_ref_sub(pp_ref_place(r, index, 1), index)))
		return;
	atomic_fetch_sub_explicit(&e->shared, 1, memory_order_seq_cst);
}

#endif
