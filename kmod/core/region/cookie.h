/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cookies: numbers for regions. A free callback gets a cookie in place of a pointer, so
 * a late callback finds nothing. No number is used twice.
 */
#ifndef _PEERPIN_COOKIE_H
#define _PEERPIN_COOKIE_H

#include <linux/types.h>

struct peerpin_region;

/*
 * Give @r a cookie, by which pp_cookie_find() finds @r until pp_cookie_erase(). pp_cookie_next()
 * may return @r before @r->cookie is set. Process context. Return: 0 or -ENOMEM.
 */
int pp_cookie_insert(struct peerpin_region *r);
void pp_cookie_erase(struct peerpin_region *r);	/* any context but interrupts */

/* the region, with a reference, or NULL; any context but interrupts */
struct peerpin_region *pp_cookie_find(unsigned long cookie);

/*
 * For a walk over all regions: the next region, with a reference, or NULL at the end.
 * *@place is 0 for the first call, and each call updates it. Process context.
 */
struct peerpin_region *pp_cookie_next(u64 *place);

void pp_cookie_init(void);
void pp_cookie_exit(void);

#endif
