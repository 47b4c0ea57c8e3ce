/* SPDX-License-Identifier: MIT */
/* The data of peerpin topo: GPUs, possible peers, and their position. */
#ifndef TOPO_H
#define TOPO_H

#include <stdio.h>
#include "tool/machine/machine.h"

/**
 * struct topo_device - @device: index in the machine
 * @label: "GPU0", "mlx5_0", "NVMe3"
 * @model: name from its driver, such as "NVIDIA H200"; empty for most devices
 */
struct topo_device {
	int device;
	char label[RDMA_NAME_SIZE];
	char model[64];
};

/** struct topo_root - a root bus that has devices of struct topo; @node: NO_NODE if unknown */
struct topo_root {
	char name[20];
	int node;
};

/**
 * struct topo - @devices: @nr_gpus GPUs, then all others
 * @is_shown: for each device of the machine: is it in @devices, or a bridge above one of these?
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

/* Returns 0 or -errno, as machine_read(). */
int topo_read(const struct tree *tree, struct topo *out);
void topo_free(struct topo *t);

/* NULL if @device is not in @devices (a bridge). */
const struct topo_device *topo_find(const struct topo *t, int device);

/* The label of @device, or NULL. */
const char *topo_label(const struct topo *t, int device);

/* Is path_is_hidden() true for a GPU or a peer? */
bool topo_is_hidden(const struct topo *t);

void topo_text(const struct topo *t, FILE *f);
void topo_json(const struct topo *t);
void topo_svg(const struct topo *t, FILE *f);

#endif
