/* SPDX-License-Identifier: GPL-2.0 */
/* Do processors take turns at an object? Then its cache lines move from one to the other. */
#ifndef _PEERPIN_TURNS_H
#define _PEERPIN_TURNS_H

#include <linux/jiffies.h>
#include <linux/smp.h>
#include <linux/types.h>

enum {
	PP_TURNS_MANY = 128,	/* changes of the processor in an eighth of a second */
};

/** struct pp_turns - the processor that used an object last, and how often it has changed since @since */
struct pp_turns {
	u32 since;
	u16 cpu;
	u16 count;
};

/*
 * Note a use by this processor. True, once for each PP_TURNS_MANY changes, if the changes come fast.
 * Callers that race may lose a change. Any context.
 */
static inline bool pp_turns_are_many(struct pp_turns *t)
{
	u16 cpu = raw_smp_processor_id(), count = READ_ONCE(t->count) + 1;
	u32 now = jiffies;

	if (READ_ONCE(t->cpu) == cpu)
		return false;
	WRITE_ONCE(t->cpu, cpu);
	if (now - READ_ONCE(t->since) > HZ / 8) {
		WRITE_ONCE(t->since, now);
		count = 0;
	}
	WRITE_ONCE(t->count, count < PP_TURNS_MANY ? count : 0);
	return count >= PP_TURNS_MANY;
}

#endif
