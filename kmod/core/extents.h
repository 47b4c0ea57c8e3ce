/* SPDX-License-Identifier: GPL-2.0 */
/* The physical extents of a region. */
#ifndef _PEERPIN_EXTENTS_H
#define _PEERPIN_EXTENTS_H

#include <linux/types.h>

struct peerpin_region;

/**
 * pp_extents_read() - list them in @r->extents, if that is not done yet
 *
 * Users of the region may read them afterwards. Nobody frees them before all
 * users have left.
 * Context: process, sleeps for memory; not as a user.
 * Return: 0; -ESTALE; -ENOMEM; -EIO they are not the region's length;
 * -EOPNOTSUPP only its owner can map it.
 */
int pp_extents_read(struct peerpin_region *r);

/* how many there are; 0 while not listed, or once revoked. Any that may sleep */
u32 pp_extents_counted(struct peerpin_region *r);

/* nobody can be a user any more */
void pp_extents_free(struct peerpin_region *r);

#endif
