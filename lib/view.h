/* SPDX-License-Identifier: MIT */
#ifndef PP_VIEW_H
#define PP_VIEW_H

#include <stdbool.h>
#include "libpeerpin.h"

/* Was it made by pp_cache_create_view()? */
bool pp_view_is_cache(const struct pp_cache *cache);

#endif
