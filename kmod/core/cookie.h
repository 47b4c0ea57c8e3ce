/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cookies: numbers that name regions to those who must not hold a pointer. A
 * free callback knows a cookie only, so one that comes late finds nothing. No
 * number is used twice. Context of all: any that may sleep; find: any.
 */
#ifndef _PEERPIN_COOKIE_H
#define _PEERPIN_COOKIE_H

struct pp_region;

/* give @r a cookie by which it is found, until erased; 0 or -ENOMEM */
int pp_cookie_insert(struct pp_region *r);
void pp_cookie_erase(struct pp_region *r);

/* the region, with a reference, or NULL */
struct pp_region *pp_cookie_find(unsigned long cookie);

#endif
