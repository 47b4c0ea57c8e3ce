/* SPDX-License-Identifier: MIT */
/*
 * Programs that reached code which none had reached before, and what was
 * reached; all workers share one. A worker may be killed at any moment, so that
 * there is no lock: what is half written is a program too.
 */
#ifndef CALLS_CORPUS_H
#define CALLS_CORPUS_H

#include "program.h"

enum {
	CORPUS_MAX = 4096,
	CORPUS_EDGES = 1 << 16,
};

struct corpus {
	uint32_t count;	/* of all that were added: the newest CORPUS_MAX are there */
	uint32_t edges;
	uint8_t seen[CORPUS_EDGES];
	struct program programs[CORPUS_MAX];
};

/* One to run: made of those that are there, or new */
void corpus_next(const struct corpus *corpus, struct program *out, uint64_t *seed);

void corpus_add(struct corpus *corpus, const struct program *program);

/* Notes that @edge was reached; whether it is for the first time. */
bool corpus_reached(struct corpus *corpus, uint64_t edge);

#endif
