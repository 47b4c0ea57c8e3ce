/* SPDX-License-Identifier: MIT */
/* What the registration cache does when no entry covers a range. */
#ifndef PP_MISS_H
#define PP_MISS_H

#include "cache.h"
#include "regcache.h"

/**
 * pp_miss - register a range
 * @asked: at least this
 * @out: the entry, used once
 *
 * Return: 0; 1 when another thread is, or was, about the same range: look it
 * up again; else an error, with @why.
 */
int pp_miss(struct pp_cache *c, const struct pp_range *asked,
	    struct pp_entry **out, struct pp_cache_work *work,
	    struct pp_why *why);

/*
 * Wait for a change, if a registration is under way that overlaps a range.
 * Return: was there one?
 */
bool pp_miss_wait(struct pp_cache *c, const struct pp_range *range);

#endif
