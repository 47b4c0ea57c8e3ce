/* SPDX-License-Identifier: MIT */
/* What peerpin topo shows: the GPUs and their possible peers, and where they sit. */
#ifndef TOPO_H
#define TOPO_H

#include <stdio.h>
#include "tool/machine/machine.h"

/**
 * struct topo_device - @device: its index in the machine
 * @label: "GPU0", "mlx5_0", "NVMe3"
 * @model: what its driver calls it, such as "NVIDIA H200"; mostly empty
 */
struct topo_device {
	int device;
	char label[RDMA_NAME_SIZE];
	char model[64];
};

/** struct topo_root - a root bus with such devices; @node: NO_NODE if unknown */
struct topo_root {
	char name[20];
	int node;
};

/**
 * struct topo - @devices: the GPUs, which are the first @nr_gpus, then all others
 * @is_shown: for each device of the machine: is it one of @devices, or above one?
 * @roots: sorted by node, those with an unknown node last
 * @nr_virtual: virtual functions, which are not shown
 */
struct topo {
	struct machine machine;
	struct topo_device *devices;
	size_t count;
	size_t nr_gpus;
	bool *is_shown;
	struct topo_root *roots;
	size_t nr_roots;
	size_t nr_virtual;
	char product[64];
};

/* 0 or -errno, as machine_read(). */
int topo_read(const struct tree *tree, struct topo *out);
void topo_free(struct topo *t);

/* NULL if it is none of these, but a bridge. */
const struct topo_device *topo_find(const struct topo *t, int device);

/* Its label, or NULL. */
const char *topo_label(const struct topo *t, int device);

/* Is there a GPU or a peer of which the bridges are hidden, or not the real ones? See path_is_hidden(). */
bool topo_is_hidden(const struct topo *t);

void topo_text(const struct topo *t, FILE *f);
void topo_json(const struct topo *t);
void topo_svg(const struct topo *t, FILE *f);

#endif
