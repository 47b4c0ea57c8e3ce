/* SPDX-License-Identifier: MIT */
/* Room for a registration: whether there is some, and how to make it. */
#ifndef PP_ROOM_H
#define PP_ROOM_H

#include "cache.h"

/**
 * struct pp_search - for room, by one thread whose pin found none
 * @began: time of the first shortage. Entries that were used later are in use by
 *	other threads, turn by turn: evicting them would help nobody
 * @unpins: how many had ended when the last attempt began
 * @searching: @began is set
 * @last: there is nothing left to wait for
 *
 * Zero-initialise. Each entry that was idle when it began is evicted at most
 * once for it, so the search ends whatever other threads do.
 */
struct pp_search {
	uint32_t began;
	uint64_t unpins;
	bool searching;
	bool last;
};

/* The first three are called without @lock, the others with it. */

/* Before each attempt but the first, for which @unpins is set otherwise. */
void pp_room_attempt(struct pp_cache *c, struct pp_search *s);

/* After a shortage: is another attempt worth while? Evicts, unpins, waits. */
bool pp_room_make(struct pp_cache *c, struct pp_search *s);

/*
 * Waits for what was on its way out when it was called, for as long as that
 * exceeds the budget.
 */
void pp_room_await_budget(struct pp_cache *c);

/* Is the budget exceeded, with what is on its way out, but for @but? */
bool pp_room_exceeded(const struct pp_cache *c, const struct pp_doomed *but);

/* Is a range worth widening to? @whole: within one allocation. */
bool pp_room_affords(struct pp_cache *c, const struct pp_range *range, bool whole);

/* A pending entry within one allocation found no room, or did. */
void pp_room_refused(struct pp_cache *c, uint64_t length);
void pp_room_granted(struct pp_cache *c, uint64_t length);

/* Forget what was refused. */
void pp_room_reset(struct pp_cache *c);

#endif
