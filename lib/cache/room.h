/* SPDX-License-Identifier: MIT */
/* Room for registrations: checks of the budget, and evictions after a shortage. */
#ifndef PP_ROOM_H
#define PP_ROOM_H

#include "cache.h"

/**
 * struct pp_search - one thread's search for room after its pin found none
 * @began: time of the first shortage. Entries used later are the working set of
 *	other threads: evicting them would only cause new misses
 * @unpins: number of unpins that had ended when the last attempt began
 * @searching: @began is set
 * @last: no entry is left to evict; there is one more attempt at most
 *
 * Zero-initialise. A search evicts only entries that were not used since it began,
 * each at most once. So the search ends whatever other threads do.
 */
struct pp_search {
	uint32_t began;
	uint64_t unpins;
	bool searching;
	bool last;
};

/* The first four functions are called without the cache's @lock, the others with it held. */

/* Call it before each attempt but the first; before the first attempt the caller sets @unpins. */
void pp_room_attempt(struct pp_cache *c, struct pp_search *s);

/* After a shortage: evict and unpin an entry, or wait. Returns true if another attempt may succeed. */
bool pp_room_make(struct pp_cache *c, struct pp_search *s);

/*
 * Before a pin: wait until the budget has room for it, beside all registrations that exist or are being made, or
 * until the unpins that were in progress at the call have ended.
 */
void pp_room_enter(struct pp_cache *c, uint64_t length);

/* An unpin has ended: gives its room back. A thread must call pp_room_end_waits() later, with the lock held. */
void pp_room_give_back(struct pp_cache *c, uint64_t length);

/* End the waits for room that is free now. */
void pp_room_end_waits(struct pp_cache *c);

/* A pin has failed, or becomes smaller by @bytes. Gives the room back and ends the waits for it. */
void pp_room_leave(struct pp_cache *c, uint64_t length);
void pp_room_narrowed(struct pp_cache *c, uint64_t bytes);

/* Should a registration be widened to @range? @whole: the range is within one allocation. */
bool pp_room_affords(struct pp_cache *c, const struct pp_range *range, bool whole);

/* Report that the pin of a whole allocation found no room (refused), or succeeded (granted). */
void pp_room_refused(struct pp_cache *c, uint64_t length);
void pp_room_granted(struct pp_cache *c, uint64_t length);

/* Forget earlier refusals. */
void pp_room_reset(struct pp_cache *c);

#endif
