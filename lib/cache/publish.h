/* SPDX-License-Identifier: MIT */
/* Statistics of caches for other processes (published.h), if PEERPIN_PUBLISH=1. */
#ifndef PP_PUBLISH_H
#define PP_PUBLISH_H

#include <stdbool.h>
#include "published.h"
#include "reader.h"

struct pp_cache_stats;

/*
 * The header to publish to. NULL: publishing is not requested, or not possible. The
 * first call in a process decides and makes the memfd; a child of fork() decides anew.
 */
struct pp_published *pp_publish(void);

/* Memory for a reader; its @hits keep the count of earlier readers. NULL: no slot */
struct pp_reader *pp_publish_take(void);

/* Give back a reader. Returns false if it is not from pp_publish_take() of this process. */
bool pp_publish_give(struct pp_reader *r);

/* Add the difference of @now and @before to @to. Calls for one cache must not run at the same time. */
void pp_publish_stats(struct pp_published *to, const struct pp_cache_stats *before, const struct pp_cache_stats *now);

#endif
