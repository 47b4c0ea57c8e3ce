/* SPDX-License-Identifier: MIT */
#ifndef PP_REGCACHE_H
#define PP_REGCACHE_H

#include <stdbool.h>
#include "libpeerpin.h"

/**
 * struct pp_cache_work - what calls of pp_cache_get_counted() had to do
 * @pins: registrations they made
 * @pin_ns: time that took, failed attempts included
 */
struct pp_cache_work {
	uint32_t pins;
	uint64_t pin_ns;
};

/* pp_cache_get() that adds what it did to @work; @why is not NULL here */
int pp_cache_get_counted(struct pp_cache *cache, uint64_t addr,
			 uint64_t length, const struct pp_cache_entry **out,
			 struct pp_cache_work *work, struct pp_why *why);

/* pp_cache_create() of any @attr: its pin_flags and watch are @ops' business */
int pp_cache_make(const struct pp_cache_ops *ops, void *arg, const struct pp_cache_attr *attr,
		  struct pp_cache **out);

/* The context of a cache made by pp_cache_create_ctx(), else NULL. Such a cache is its operations' argument. */
struct pp_ctx *pp_cache_ctx(const struct pp_cache *cache);
void pp_cache_set_ctx(struct pp_cache *cache, struct pp_ctx *ctx);

/*
 * It is told of frees, so pp_watch_end() is due before it ends. @is_going: is a
 * range being freed? What is registered then is its caller's only.
 */
void pp_cache_set_hooked(struct pp_cache *cache, int (*is_going)(uint64_t addr, uint64_t length));

/* Its entries are no descriptors: where these have run out, none is given up. */
void pp_cache_set_no_files(struct pp_cache *cache);

#endif
