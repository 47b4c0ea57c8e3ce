/* SPDX-License-Identifier: MIT */
/* Hits while another thread inserts, evicts, revokes and invalidates, in our cache and in the tree */
#ifndef CHURN_H
#define CHURN_H

#include "beside.h"

/**
 * struct churn - results
 * @quiet, @busy: hits of our cache while the other thread rests, and while it works
 * @tree: hits of the tree while the other thread inserts and evicts
 * @steps, @evictions, @revocations: what the other thread did to our cache
 * @missed: gets of hot ranges that were misses
 */
struct churn {
	struct beside quiet;
	struct beside busy;
	struct beside tree;
	uint64_t steps;
	uint64_t evictions;
	uint64_t revocations;
	int64_t missed;
};

/*
 * The measuring thread gets @hot ranges, the other thread gets @cold ranges in turn, half of which fit. So many fit
 * that hot entries survive a time slice in which the measuring thread does not run.
 */
void churn_run(unsigned int hot, unsigned int cold, struct churn *out);

#endif
