/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cookies: numbers that name regions to those who must not hold a pointer. A
 * free callback knows a cookie only, so one that comes late finds nothing. No
 * number is used twice.
 */
#ifndef _PEERPIN_COOKIE_H
#define _PEERPIN_COOKIE_H

#include <linux/types.h>

struct peerpin_region;

/*
 * Give @r a cookie by which it is found, until erased; but whoever walks over
 * all regions may find it before. Process context; 0 or -ENOMEM.
 */
int pp_cookie_insert(struct peerpin_region *r);
void pp_cookie_erase(struct peerpin_region *r);	/* any context but interrupts */

/* the region, with a reference, or NULL; any context but interrupts */
struct peerpin_region *pp_cookie_find(unsigned long cookie);

/*
 * The first region whose cookie's place is *@place or behind it, with a
 * reference, or NULL. *@place is where to go on; begin at 0. Process context.
 */
struct peerpin_region *pp_cookie_next(u64 *place);

void pp_cookie_init(void);
void pp_cookie_exit(void);

#endif
