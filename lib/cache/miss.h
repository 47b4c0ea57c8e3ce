/* SPDX-License-Identifier: MIT */
/* Misses of the registration cache: no entry covers a range, so the range is registered. */
#ifndef PP_MISS_H
#define PP_MISS_H

#include "cache.h"
#include "regcache.h"

/**
 * pp_miss - register a range
 * @asked: range that the entry has to cover at least
 * @out: the entry, with one reference for the caller
 * @work: NULL, or adds the registration and its time
 *
 * Return: 0; 1 if another thread registers, or has registered, the same range:
 * look the range up again; else an error, with @why.
 */
int pp_miss(struct pp_cache *c, const struct pp_range *asked,
	    struct pp_entry **out, struct pp_cache_work *work,
	    struct pp_why *why);

/*
 * Wait for a change if a pending registration overlaps a range. pp_miss() does so, too, but
 * after the call of @grow; without @grow and @valid this function does nothing.
 * Return: false if it did not wait.
 */
bool pp_miss_wait(struct pp_cache *c, const struct pp_range *range);

#endif
