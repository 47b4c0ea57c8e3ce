/* SPDX-License-Identifier: MIT */
/*
 * The corpus: programs that reached new code, and the code reached so far. All workers share it. It
 * has no lock, because a worker may be killed at any moment. A half-written program is valid, too.
 */
#ifndef CALLS_CORPUS_H
#define CALLS_CORPUS_H

#include "program.h"

enum {
	CORPUS_MAX = 4096,
	CORPUS_EDGES = 1 << 16,
};

struct corpus {
	uint32_t count;	/* number of programs added so far; the newest CORPUS_MAX are kept */
	uint32_t edges;
	uint8_t seen[CORPUS_EDGES];
	struct program programs[CORPUS_MAX];
};

/* Choose a program to run: a mutation of kept programs, or a new program. */
void corpus_next(const struct corpus *corpus, struct program *out, uint64_t *seed);

void corpus_add(struct corpus *corpus, const struct program *program);

/* Record that @edge was reached; true the first time. */
bool corpus_reached(struct corpus *corpus, uint64_t edge);

#endif
