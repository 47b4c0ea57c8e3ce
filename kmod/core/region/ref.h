/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reference count. It starts as one number, because most objects have few users. When processors
 * take turns at it, the owner spreads it: from then on each processor counts in a number of its own,
 * in a percpu_ref, and writes no cache line of another processor. doc/lifetimes.md has the argument.
 */
#ifndef _PEERPIN_REF_H
#define _PEERPIN_REF_H

#include <linux/percpu-refcount.h>
#include <linux/refcount.h>
#include "turns.h"

/**
 * struct pp_ref - a reference count
 * @few: number of references; once @spread, 1 more. Final when ref_gathered() runs
 * @many: PP_REF_BIAS, plus references taken since @spread, minus references dropped since
 * @spread: @many counts
 * @turns: processors that look the object up, before @spread
 * @release: called when the last reference is dropped, in any context
 */
struct pp_ref {
	refcount_t few;
	bool spread;
	struct pp_turns turns;
	struct percpu_ref many;
	void (*release)(struct pp_ref *ref);
};

void pp_ref_init(struct pp_ref *ref, void (*release)(struct pp_ref *ref));

/* the caller has a reference; any context, as all functions below */
void pp_ref_get(struct pp_ref *ref);
void pp_ref_put(struct pp_ref *ref);

/* take a reference of an object found under RCU; false: no reference is left, or a spread count was gathered */
bool pp_ref_tryget(struct pp_ref *ref);

/* is this the only reference? False also if the count was spread */
bool pp_ref_is_one(const struct pp_ref *ref);

/* note a look-up by this processor; true: the owner should call pp_ref_spread() */
static inline bool pp_ref_is_shared(struct pp_ref *ref)
{
	return !READ_ONCE(ref->spread) && pp_turns_are_many(&ref->turns);
}

/*
 * Spread the count, or do nothing if there is no memory. pp_ref_gather() starts a grace period of RCU;
 * the last put is noticed only after its end, so each object must be gathered. The owner calls both
 * under one lock, and does not spread after it has gathered.
 */
void pp_ref_spread(struct pp_ref *ref);
void pp_ref_gather(struct pp_ref *ref);

/* for numbers that are spread under a spinlock or in an interrupt */
#define PP_SPREAD_GFP (GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

#endif
