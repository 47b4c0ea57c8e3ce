/* SPDX-License-Identifier: MIT */
#ifndef SOAK_PEER_H
#define SOAK_PEER_H

#include "worker.h"

/** struct end - source or destination of a peer's copy */
struct end {
	const struct pin *pin;
	uint64_t offset;
};

/* If no peer is open, open any present peer. */
int peer_get(struct worker *w);
void peer_drop(struct worker *w);

/* Returns 0 or an error that the rules allow. After ENODEV no peer is open. */
int peer_copy(struct worker *w, struct end to, struct end from, uint64_t length);

#endif
