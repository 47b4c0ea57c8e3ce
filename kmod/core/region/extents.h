/* SPDX-License-Identifier: GPL-2.0 */
/* The physical extents of a region. */
#ifndef _PEERPIN_EXTENTS_H
#define _PEERPIN_EXTENTS_H

#include <linux/types.h>

struct peerpin_region;
struct pp_extents;

/**
 * pp_extents_read() - fill @r->extents; later calls do nothing
 *
 * A call at the same moment waits for the first.
 * Users of the region may read @r->extents afterwards; the list is freed after the last
 * user has left.
 * Context: process, sleeps for memory; the caller must not be a user.
 * Return: 0; -ESTALE the region has ended; -ENOMEM; -EIO the extents do not add up to
 * the region's length; -EOPNOTSUPP only the provider can map the region.
 */
int pp_extents_read(struct peerpin_region *r);

/* pp_extents_read(), then list a part of @r in @x; the caller frees @x->at, after a failure too */
int pp_extents_read_part(struct peerpin_region *r, u64 offset, u64 length, struct pp_extents *x);

/* number of extents; 0 before pp_extents_read(), and after the region's end. Process context */
u32 pp_extents_counted(struct peerpin_region *r);

/* free @r->extents; the region has ended and has no users */
void pp_extents_free(struct peerpin_region *r);

#endif
