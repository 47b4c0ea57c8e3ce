/* SPDX-License-Identifier: MIT */
/* Room for a registration: is there any, and how to make some. */
#ifndef PP_ROOM_H
#define PP_ROOM_H

#include "cache.h"

/**
 * struct pp_search - one thread's search for room after its pin found none
 * @began: time of the first shortage. Entries used later are the working set of
 *	other threads: evicting them would only cause new misses
 * @unpins: unpins that had ended when the last attempt began
 * @searching: @began is set
 * @last: nothing is left to evict or to wait for
 *
 * Zero-initialise. A search evicts each entry that was idle at its begin at most
 * once, so it ends whatever other threads do.
 */
struct pp_search {
	uint32_t began;
	uint64_t unpins;
	bool searching;
	bool last;
};

/* The first three are called without @lock, the others with it. */

/* Before each attempt except the first, for which the caller sets @unpins. */
void pp_room_attempt(struct pp_cache *c, struct pp_search *s);

/* After a shortage: evicts, unpins, waits. Returns true if another attempt may succeed. */
bool pp_room_make(struct pp_cache *c, struct pp_search *s);

/*
 * Waits for the unpins under way at the time of the call, while the entries
 * together with those being unpinned exceed the budget.
 */
void pp_room_await_budget(struct pp_cache *c);

/* Is the budget exceeded, if entries being unpinned count, except @but? */
bool pp_room_exceeded(const struct pp_cache *c, const struct pp_doomed *but);

/* Should a registration be widened to @range? @whole: the range is within one allocation. */
bool pp_room_affords(struct pp_cache *c, const struct pp_range *range, bool whole);

/* A pending entry of a whole allocation found no room, or found room. */
void pp_room_refused(struct pp_cache *c, uint64_t length);
void pp_room_granted(struct pp_cache *c, uint64_t length);

/* Forget earlier refusals. */
void pp_room_reset(struct pp_cache *c);

#endif
