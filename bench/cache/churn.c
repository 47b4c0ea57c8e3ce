// SPDX-License-Identifier: MIT
#include "bench/bench.h"
#include "churn.h"
#include "ours.h"

/* Get a missing region, which evicts another region. Revoke some regions and get them again; invalidate some. */
static void churn_ours(struct other *o, unsigned int i)
{
	struct ours *cache = o->cache;
	const struct range *range = &o->ranges->at[i % o->ranges->count];

	ours.use(cache, range, 1);
	if (i % 8 == 3) {
		ours_revoke(cache, range);
		ours.use(cache, range, 1);
	} else if (i % 8 == 7) {
		pp_cache_invalidate(cache->cache, (void *)range->start, range->length);
	}
}

static void churn_tree(struct other *o, unsigned int i)
{
	baseline_tree.use(o->cache, &o->ranges->at[i % o->ranges->count], 1);
}

/* A full cache: half of the cold ranges, and all hot ranges */
static void fill(const struct contender *c, const struct ranges *hot, struct other *o)
{
	unsigned int cold = o->ranges->count;

	o->steps = cold / 2;
	o->cache = c->make(hot->count + cold, hot->count + cold / 2);
	c->use(o->cache, o->ranges->at, cold / 2);
	c->use(o->cache, hot->at, hot->count);
}

static void run_tree(const struct ranges *hot, const struct ranges *cold, struct churn *out)
{
	struct other other = { .step = churn_tree, .ranges = cold };
	struct beside quiet;

	fill(&baseline_tree, hot, &other);
	beside("the tree, another inserts and evicts", &baseline_tree, hot, &other, &quiet, &out->tree);
	baseline_tree.drop(other.cache);
}

static void run_ours(const struct ranges *hot, const struct ranges *cold, struct churn *out)
{
	struct other other = { .step = churn_ours, .ranges = cold };
	struct pp_cache_stats before, after;

	fill(&ours, hot, &other);
	before = ours_stats(other.cache);
	beside("another inserts, evicts and revokes", &ours, hot, &other, &out->quiet, &out->busy);
	after = ours_stats(other.cache);
	ours.drop(other.cache);
	out->steps = other.steps - cold->count / 2;
	out->evictions = after.evictions - before.evictions;
	out->revocations = after.revocations - before.revocations;
	out->missed = after.misses - before.misses - out->steps - out->revocations;
	printf("meanwhile %lu insertions, %lu evictions, %lu revocations; %ld gets of hot ranges were misses\n",
	       out->steps, out->evictions, out->revocations, out->missed);
}

void churn_run(unsigned int hot, unsigned int cold, struct churn *out)
{
	struct ranges all = ranges_dense(hot + cold, ASKED);
	const struct ranges first = { all.at, hot }, rest = { all.at + hot, cold };

	run_ours(&first, &rest, out);
	run_tree(&first, &rest, out);
	ranges_free(&all);
}
