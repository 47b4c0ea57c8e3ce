/* SPDX-License-Identifier: MIT */
#ifndef PP_REGCACHE_H
#define PP_REGCACHE_H

#include <stdbool.h>
#include "libpeerpin.h"

/**
 * struct pp_cache_work - registrations made by calls of pp_cache_get_counted()
 * @pins: number of registrations
 * @pin_ns: their time, failed attempts included
 */
struct pp_cache_work {
	uint32_t pins;
	uint64_t pin_ns;
};

/* pp_cache_get() that adds its registrations to @work; @work and @why may be NULL */
int pp_cache_get_counted(struct pp_cache *cache, uint64_t addr,
			 uint64_t length, const struct pp_cache_entry **out,
			 struct pp_cache_work *work, struct pp_why *why);

/* pp_cache_create() without its checks of @ops and @attr */
int pp_cache_make(const struct pp_cache_ops *ops, void *arg, const struct pp_cache_attr *attr,
		  struct pp_cache **out);

/* The context of a cache made by pp_cache_create_ctx(), else NULL. Setting it makes the cache the @arg of its @ops. */
struct pp_ctx *pp_cache_ctx(const struct pp_cache *cache);
void pp_cache_set_ctx(struct pp_cache *cache, struct pp_ctx *ctx);

/*
 * The hook reports frees to the cache, so pp_cache_destroy() calls pp_watch_end().
 * @is_going: returns 1 if a range is being freed. Then a registration of the range
 * serves only the get() that made it.
 */
void pp_cache_set_hooked(struct pp_cache *cache, int (*is_going)(uint64_t addr, uint64_t length));

/* The cache's entries have no file descriptors: on EMFILE no entry is evicted. */
void pp_cache_set_no_files(struct pp_cache *cache);

#endif
