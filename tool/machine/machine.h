/* SPDX-License-Identifier: MIT */
/* The PCI devices and NUMA nodes of a machine, read once. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tree.h"

enum {
	PCI_NR_BARS = 6,
	RDMA_NAME_SIZE = 64,	/* the kernel's IB_DEVICE_NAME_MAX */
	NO_NODE = -1,
	NO_GROUP = -1,
	NO_PARENT = -1,
	MACHINE_MAX_PAIRS = 65536,	/* pairs of a GPU and another GPU or a peer */
};

/* Format for fail(); its argument is MACHINE_MAX_PAIRS */
#define MACHINE_TOO_LARGE "there are more than %d pairs of GPUs and peers, which no real machine has; give --root a " \
	"tree made by: peerpin doctor --capture FILE.tar"

enum device_kind {
	DEVICE_NONE,		/* cannot be a peer: USB, sound, a chipset's parts */
	DEVICE_BRIDGE,		/* PCI to PCI: root ports, ports of switches */
	DEVICE_GPU,
	DEVICE_NIC,
	DEVICE_RDMA,		/* has an RDMA device, whatever its PCI class */
	DEVICE_NVME,
	DEVICE_STORAGE,
	DEVICE_OTHER_MASTER,	/* an accelerator, a video grabber, an FPGA */
};

/* PCI Express port types. */
enum port_type {
	PORT_UNKNOWN,
	PORT_CONVENTIONAL,	/* conventional PCI, not PCI Express */
	PORT_ENDPOINT,
	PORT_IN_ROOT_COMPLEX,	/* root complex integrated endpoint */
	PORT_ROOT,
	PORT_UPSTREAM,		/* of a switch */
	PORT_DOWNSTREAM,	/* of a switch */
	PORT_TO_PCI,		/* a bridge between PCI Express and PCI */
};

/* Bits of acs_cap (supported) and acs_ctrl (enabled). */
enum {
	ACS_SOURCE_VALIDATION = 1 << 0,
	ACS_REQUEST_REDIRECT = 1 << 2,
	ACS_COMPLETION_REDIRECT = 1 << 3,
	ACS_UPSTREAM_FORWARDING = 1 << 4,
	ACS_DIRECT_TRANSLATED = 1 << 6,
	ACS_CTRL = 6,		/* offset of acs_ctrl from acs_at */
};

/** struct link - link of a device to the port above it; link of a port to the devices below it. 0: unknown */
struct link {
	unsigned int speed_mts;	/* per lane, in MT/s: 8000 is 8 GT/s */
	unsigned int width;
	unsigned int max_speed_mts;
	unsigned int max_width;
};

/**
 * struct device - a PCI function
 * @name: its address, such as "0000:3b:00.0"
 * @parent: index of the bridge above; NO_PARENT: the device is on a root bus
 * @root_bus: such as "pci0000:00"; empty if unknown
 * @port: from the configuration space; inferred from the topology if that cannot be read
 * @config_seen: the configuration space was read, for Express devices with the extended part (only root can read
 *	it). If false, @has_... are meaningless.
 * @config_cut: root read it, but without the extended part, which the kernel or a hypervisor does not provide
 * @acs_at: offset of the ACS capability in the configuration space
 * @rebar: supported sizes of each BAR: bit N is 1 MiB << N
 * @master: bus mastering is on
 * @is_virtual: an SR-IOV virtual function, seen from its host
 */
struct device {
	char name[20];
	uint16_t vendor;
	uint16_t device;
	uint32_t class_code;
	enum device_kind kind;
	enum port_type port;
	int parent;
	char root_bus[20];
	char driver[32];
	char rdma[RDMA_NAME_SIZE];	/* its RDMA device, such as "mlx5_0" */
	int numa_node;		/* or NO_NODE */
	int iommu_group;	/* or NO_GROUP */
	char iommu_type[16];	/* "DMA", "DMA-FQ", "identity"; "" if unknown */
	struct link link;
	bool config_seen;
	bool config_cut;
	bool master;
	bool is_virtual;
	bool has_acs;
	bool has_ats;
	bool ats_on;
	bool has_rebar;
	uint16_t acs_cap;
	uint16_t acs_ctrl;
	unsigned int acs_at;
	uint64_t rebar[PCI_NR_BARS];
	uint64_t bars[PCI_NR_BARS];	/* sizes, 0: none */
	uint64_t bar_at[PCI_NR_BARS];
};

/** struct numa_node - @package: the node's processor, -1 if unknown */
struct numa_node {
	int id;
	int package;
};

/**
 * struct machine - @at is sorted by address; the index of a device is its position in @at
 * @is_guest: a virtual machine with bridges invented by the hypervisor; false with the emulated GPU, for which QEMU's
 *	bridges are the real topology
 */
struct machine {
	const struct tree *tree;
	struct device *at;
	size_t count;
	struct numa_node *nodes;
	size_t nr_nodes;
	bool is_guest;
};

/**
 * machine_read - read all devices and nodes
 *
 * Returns 0, or -errno of the list of devices: -ENOENT on a machine without PCI, -E2BIG for more pairs than
 * MACHINE_MAX_PAIRS (a forged tree). After an error nothing needs to be freed.
 * If the files of a device cannot be read, it stays in the list with its fields "unknown".
 * Parents never form a loop.
 */
int machine_read(const struct tree *tree, struct machine *out);
void machine_free(struct machine *m);

/* NULL if not found. */
const struct device *machine_find(const struct machine *m, const char *name);
const struct numa_node *machine_node(const struct machine *m, int id);

/* A device that can be a peer of a GPU and is not a virtual function; false for GPUs. */
bool device_is_peer(const struct device *d);

const char *device_kind_name(enum device_kind kind);	/* "GPU", "NIC", "RDMA", "NVMe" */

#endif
