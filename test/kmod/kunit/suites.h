/* SPDX-License-Identifier: GPL-2.0 */
/* The suites of core_kunit.ko, and the regions that several suites use */
#ifndef _TEST_SUITES_H
#define _TEST_SUITES_H

#include <linux/atomic.h>
#include "../../../kmod/core/region/region.h"
#include "../../../kmod/core/region/table.h"
#include "kunit.h"

extern struct kunit_suite region_suite, ref_suite, table_suite, cookie_suite, epoch_suite, extents_suite;

enum {
	REGIONS = 5000,	/* more than four chunks of a table */
};

/* Unpinned regions, each with one reference; regions_init() makes them new for each case. */
extern struct peerpin_region *regions;
extern atomic_t regions_released;

int regions_init(struct kunit *test);
void regions_exit(struct kunit *test);

static inline unsigned int region_refs(unsigned int i)
{
	return refcount_read(&regions[i].ref.few);
}

/* Sets the turn of a free entry. No test can free an entry four billion times. */
void table_set_turn(struct pp_table *t, u32 index, u32 turn);

/* A live region of a fake provider. @provider: may leave out all functions. Returns NULL if out of memory. */
struct peerpin_region *region_pinned(const struct pp_provider *provider, u64 length);

#endif
