/* SPDX-License-Identifier: MIT */
#ifndef PP_VIEW_H
#define PP_VIEW_H

#include "libpeerpin.h"

/* 0; -EINVAL not from pp_cache_create_view(); -EACCES made by the parent process */
int pp_view_check(const struct pp_cache *cache);

#endif
