/* SPDX-License-Identifier: MIT */
/* Judges for a GPU and a peer how well transfers between them work, with the reasons. */
#ifndef PAIR_H
#define PAIR_H

#include "view.h"
#include "tool/machine/path.h"

/* Each is worse than the one before it. */
enum pair_verdict {
	PAIR_WELL,
	PAIR_UNKNOWN,		/* the deciding facts could not be read */
	PAIR_SLOW,
	PAIR_NOT,
	NR_PAIR_VERDICTS,
};

/**
 * struct pair - @gpu, @peer: indices of devices
 * @gpu_number: as in peerpin topo; nvidia-smi counts only GPUs bound to NVIDIA's driver
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

/* Judges all pairs of a GPU and a peer. */
void pairs_judge(const struct view *v, struct pairs *out);
void pairs_free(struct pairs *pairs);

/* Finds only the path, without a verdict. */
void pair_find(const struct view *v, int gpu, int peer, struct pair *out);

/*
 * Does this bridge, on the path and below the common bridge, redirect requests
 * from below to the root complex?
 */
enum seen pair_redirected_by(const struct view *v, const struct pair *p, const struct device *bridge);

/* "mlx5_0", "NVMe", the driver's name */
const char *peer_name(const struct device *peer);

const char *pair_verdict_name(enum pair_verdict verdict);

#endif
