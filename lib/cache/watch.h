/* SPDX-License-Identifier: MIT */
/* Caches that libpeerpin-hook.so tells of frees. */
#ifndef PP_WATCH_H
#define PP_WATCH_H

#include "libpeerpin.h"

/* pp_cache_make() of one that is told; -EOPNOTSUPP: there is no hook that sees everything. */
int pp_watch_make(const struct pp_cache_ops *ops, const struct pp_cache_attr *attr, struct pp_cache **out);

/* When this returns no call that was told is in progress. */
void pp_watch_end(struct pp_cache *cache);

#endif
