/* SPDX-License-Identifier: MIT */
/* The data of peerpin topo: GPUs, possible peers, and their position. */
#ifndef TOPO_H
#define TOPO_H

#include <stdio.h>
#include "tool/machine/facts.h"
#include "tool/machine/machine.h"

/**
 * struct topo_device - a GPU or possible peer
 * @device: index in machine.at
 * @label: name in the output: "GPU0", "mlx5_0", "NVMe3"
 * @model: model that the GPU's driver reports, such as "NVIDIA H200"; "": unknown
 */
struct topo_device {
	int device;
	char label[RDMA_NAME_SIZE];
	char model[64];
};

/** struct topo_root - a root bus with devices of topo.devices; @node: its NUMA node, or NO_NODE */
struct topo_root {
	char name[20];
	int node;
};

/**
 * struct topo - what peerpin topo shows
 * @devices: first @nr_gpus GPUs, then the possible peers
 * @is_shown: for each device of the machine: is it in @devices, or a bridge above a device in @devices?
 * @roots: root buses, sorted by node; unknown nodes last
 * @facts: the NVLinks; NULL: the machine has less than two GPUs
 * @nr_virtual: number of virtual functions, which are not shown
 * @product: product name of the machine; "": unknown
 */
struct topo {
	struct machine machine;
	struct topo_device *devices;
	size_t count;
	size_t nr_gpus;
	bool *is_shown;
	struct facts *facts;
	struct topo_root *roots;
	size_t nr_roots;
	size_t nr_virtual;
	char product[64];
};

/* Returns 0 or -errno, as machine_read(). */
int topo_read(const struct tree *tree, struct topo *out);
void topo_free(struct topo *t);

/* Finds the device with index @device of the machine in @devices. NULL: not found, as for a bridge. */
const struct topo_device *topo_find(const struct topo *t, int device);

/* Returns the label of the device with index @device of the machine, or NULL. */
const char *topo_label(const struct topo *t, int device);

/* Number of NVLinks between the entries @a and @b of @devices; -1: unknown. 0 if an entry is no GPU */
int topo_nvlinks(const struct topo *t, size_t a, size_t b);

/* NUMA node of the device with index @device of the machine: on a machine with one node always this one */
int topo_node(const struct topo *t, int device);

/* Is path_is_hidden() true for a GPU or a peer? */
bool topo_is_hidden(const struct topo *t);

void topo_text(const struct topo *t, FILE *f);
void topo_json(const struct topo *t);
void topo_svg(const struct topo *t, FILE *f);

#endif
