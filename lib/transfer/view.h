/* SPDX-License-Identifier: MIT */
#ifndef PP_VIEW_H
#define PP_VIEW_H

#include "libpeerpin.h"

/* 0; -EINVAL pp_cache_create_view() has not made it; -EACCES a parent has */
int pp_view_check(const struct pp_cache *cache);

#endif
