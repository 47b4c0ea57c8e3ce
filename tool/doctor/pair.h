/* SPDX-License-Identifier: MIT */
/* Pairs of a GPU and a peer: how well transfers between them work, and why. */
#ifndef PAIR_H
#define PAIR_H

#include "view.h"
#include "tool/machine/path.h"

/* How well a pair works; from the best verdict to the worst. */
enum pair_verdict {
	PAIR_WELL,
	PAIR_UNKNOWN,		/* the deciding facts could not be read */
	PAIR_SLOW,
	PAIR_NOT,
	NR_PAIR_VERDICTS,
};

/**
 * struct pair - a GPU and a peer
 * @gpu, @peer: indices of the devices
 * @gpu_number: number of the GPU in peerpin topo; nvidia-smi counts only GPUs bound to NVIDIA's driver
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

/* Fills in the devices and their path, but no verdict. */
void pair_find(const struct view *v, int gpu, int peer, struct pair *out);

/* Does this bridge of the path redirect requests to the root complex? SEEN_NO for the bridge above both devices. */
enum seen pair_redirected_by(const struct view *v, const struct pair *p, const struct device *bridge);

/* Name of a peer: its RDMA device (mlx5_0), its kind (NVMe), or its driver. */
const char *peer_name(const struct device *peer);

const char *pair_verdict_name(enum pair_verdict verdict);

#endif
