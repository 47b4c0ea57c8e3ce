/* SPDX-License-Identifier: GPL-2.0 */
/* Counts since the module was loaded, over all processes and devices: /proc/driver/peerpin. */
#ifndef _PEERPIN_COUNTS_H
#define _PEERPIN_COUNTS_H

#include <linux/percpu.h>
#include <linux/types.h>

struct seq_file;

/**
 * struct pp_counts - the counts of one processor; only the sum over all processors has a meaning
 * @regions: regions charged to accounts, less regions uncharged
 * @pins: pins that succeeded
 * @refused: pins that failed
 * @revoked: live regions that were revoked
 * @timeouts: waits for DMA that exceeded drain_timeout_ms
 * @overstays: regions that were unmapped while DMA was in flight
 * @watches: watches begun, less watches ended
 * @watches_changed: watches that ended because a page of their range could change
 */
struct pp_counts {
	u64 regions;
	u64 pins;
	u64 refused;
	u64 revoked;
	u64 timeouts;
	u64 overstays;
	u64 watches;
	u64 watches_changed;
};

DECLARE_PER_CPU(struct pp_counts, pp_counts);

/* Add 1 to a field, or subtract 1. Any context; writes no cache line that processors share. */
#define pp_count(field) this_cpu_inc(pp_counts.field)
#define pp_uncount(field) this_cpu_dec(pp_counts.field)

/* print a line "NAME VALUE" for each count; any context */
void pp_counts_show(struct seq_file *m);

#endif
