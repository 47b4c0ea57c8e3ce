/* SPDX-License-Identifier: MIT */
/*
 * What follows the pin or the unpin of an entry. The thread that has called pin() or unpin() does not wait for the cache's
 * lock, because all misses of the entry's range would wait for this thread. The thread pushes the entry to a stack, and the
 * next holder of the lock does the rest.
 */
#ifndef PP_DONE_H
#define PP_DONE_H

#include "cache.h"

/**
 * struct pp_pinned - a successful pin
 * @ns: time of the pin
 * @counts: number of pins that this time stands for in the statistics; 0: none
 * @whole: the range is a whole allocation
 */
struct pp_pinned {
	uint32_t ns;
	uint32_t counts;
	bool whole;
};

/* The first two functions are called without the cache's @lock, the others with it held. */

/*
 * A pin has ended, and the entry replaces no other entry. The calling thread has counted its reference. The entry
 * becomes LIVE or GONE: now if the lock is free, else before its holder returns from pp_cache_unlock().
 */
void pp_done_pin(struct pp_cache *c, struct pp_entry *e, struct pp_pinned pinned);

/*
 * The unpin of an EVICTED or DEAD entry has ended. The entry becomes FREE the next time that a thread takes the lock.
 * Returns true if threads wait: then the caller sweeps, because no other thread may take the lock.
 */
bool pp_done_unpin(struct pp_cache *c, struct pp_entry *e);

/* Do the rest for all entries of the stack. */
void pp_done_all(struct pp_cache *c);

/* Add @pins to the statistics. The time @ns of one of them counts @counts times. */
void pp_done_count(struct pp_cache *c, uint32_t pins, uint64_t ns, uint32_t counts);

/* A PENDING or ORPHAN entry was pinned: it becomes LIVE or GONE. Its first user has counted a reference. */
void pp_done_enter(struct pp_cache *c, struct pp_entry *e);

/* An entry is neither PENDING nor ORPHAN any more. */
void pp_done_pending(struct pp_cache *c, struct pp_entry *e);

#endif
