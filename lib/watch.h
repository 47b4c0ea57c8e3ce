/* SPDX-License-Identifier: MIT */
/* Caches that libpeerpin-hook.so tells of frees. */
#ifndef PP_WATCH_H
#define PP_WATCH_H

#include <stdbool.h>
#include "libpeerpin.h"

/* Is libpeerpin-hook.so in this process? */
bool pp_watch_has_hook(void);

/*
 * The last step of making a cache: have it told, if @hook. On failure, -EOPNOTSUPP
 * without a hook that sees everything or -ENOMEM, the cache is destroyed.
 */
int pp_watch_begin(struct pp_cache **cache, bool hook);

/* When this returns no call that was told is in progress. */
void pp_watch_end(struct pp_cache *cache);

#endif
