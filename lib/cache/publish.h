/* SPDX-License-Identifier: MIT */
/* Statistics of caches where others can read them (published.h), if the user asks. */
#ifndef PP_PUBLISH_H
#define PP_PUBLISH_H

#include <stdbool.h>
#include "published.h"
#include "reader.h"

struct pp_cache_stats;

/*
 * Is this process to publish? NULL: no, or it cannot. A process's first call
 * decides, and makes the memfd; a child of fork() decides anew.
 */
struct pp_published *pp_publish(void);

/* Memory for a reader, with hits counted by earlier ones; NULL: there is no slot */
struct pp_reader *pp_publish_take(void);

/* Give back a reader; false: it is not of pp_publish_take() in this process */
bool pp_publish_give(struct pp_reader *r);

/* What @now has more than @before. For one cache, by one thread at a time */
void pp_publish_stats(struct pp_published *to, const struct pp_cache_stats *before, const struct pp_cache_stats *now);

#endif
