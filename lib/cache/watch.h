/* SPDX-License-Identifier: MIT */
/* Caches to which libpeerpin-hook.so reports frees. */
#ifndef PP_WATCH_H
#define PP_WATCH_H

#include "libpeerpin.h"

/* pp_cache_make(), and subscribe the cache to the hook. -EOPNOTSUPP: no hook is loaded that sees all frees */
int pp_watch_make(const struct pp_cache_ops *ops, const struct pp_cache_attr *attr, struct pp_cache **out);

/* After this, no call from the hook to the cache is in progress. */
void pp_watch_end(struct pp_cache *cache);

#endif
