/* SPDX-License-Identifier: MIT */
/* A GPU and a peer: how well can they talk to each other, and why? */
#ifndef PAIR_H
#define PAIR_H

#include "view.h"
#include "tool/machine/path.h"

/* Each is worse than the one before it. */
enum pair_verdict {
	PAIR_WELL,
	PAIR_UNKNOWN,		/* what decides could not be seen */
	PAIR_SLOW,
	PAIR_NOT,
	NR_PAIR_VERDICTS,
};

/**
 * struct pair - @gpu, @peer: indices of devices
 * @gpu_number: as peerpin topo counts them; nvidia-smi leaves out those that NVIDIA's driver has not
 */
struct pair {
	int gpu;
	int peer;
	unsigned int gpu_number;
	struct path path;
	enum pair_verdict verdict;
	char reason[600];
};

struct pairs {
	struct pair *at;
	size_t count;
};

/* All there are. */
void pairs_judge(const struct view *v, struct pairs *out);
void pairs_free(struct pairs *pairs);

/* Its path, and nothing of the verdict. */
void pair_find(const struct view *v, int gpu, int peer, struct pair *out);

/*
 * Does this bridge, one of those below the common one, send what comes from
 * below to the root complex?
 */
enum seen pair_redirected_by(const struct view *v, const struct pair *p, const struct device *bridge);

/* "mlx5_0", "NVMe", the driver's name */
const char *peer_name(const struct device *peer);

const char *pair_verdict_name(enum pair_verdict verdict);

#endif
