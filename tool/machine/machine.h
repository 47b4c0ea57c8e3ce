/* SPDX-License-Identifier: MIT */
/* What peer transfers go through: a machine's PCI devices and NUMA nodes, read once. */
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
	MACHINE_MAX_PAIRS = 65536,	/* of a GPU and another GPU or a peer */
};

/* For fail(), with MACHINE_MAX_PAIRS */
#define MACHINE_TOO_LARGE "there are more than %d pairs of GPUs and peers, which no machine has; give --root one that was " \
	"captured by: peerpin doctor --capture FILE.tar"

enum device_kind {
	DEVICE_NONE,		/* nothing that moves data to a peer: USB, sound, a chipset's parts */
	DEVICE_BRIDGE,		/* PCI to PCI: root ports, ports of switches */
	DEVICE_GPU,
	DEVICE_NIC,
	DEVICE_RDMA,		/* what has an RDMA device, of whatever class */
	DEVICE_NVME,
	DEVICE_STORAGE,
	DEVICE_OTHER_MASTER,	/* an accelerator, a video grabber, an FPGA */
};

/* What it is in PCI Express. */
enum port_type {
	PORT_UNKNOWN,
	PORT_CONVENTIONAL,	/* no PCI Express device */
	PORT_ENDPOINT,
	PORT_IN_ROOT_COMPLEX,	/* an endpoint that is a part of the root complex */
	PORT_ROOT,
	PORT_UPSTREAM,		/* of a switch */
	PORT_DOWNSTREAM,	/* of a switch */
	PORT_TO_PCI,		/* a bridge between PCI Express and PCI */
};

/* Of acs_cap (what it can) and acs_ctrl (what is on). */
enum {
	ACS_SOURCE_VALIDATION = 1 << 0,
	ACS_REQUEST_REDIRECT = 1 << 2,
	ACS_COMPLETION_REDIRECT = 1 << 3,
	ACS_UPSTREAM_FORWARDING = 1 << 4,
	ACS_DIRECT_TRANSLATED = 1 << 6,
	ACS_CTRL = 6,		/* of acs_ctrl, from acs_at on, for setpci */
};

/** struct link - of a device to the port above it; of a port, to the devices below it. 0: unknown */
struct link {
	unsigned int speed_mts;	/* a lane's, in MT/s: 8000 is 8 GT/s */
	unsigned int width;
	unsigned int max_speed_mts;
	unsigned int max_width;
};

/**
 * struct device - a PCI function
 * @name: its address, such as "0000:3b:00.0"
 * @parent: index of the bridge above, or NO_PARENT: it is on a root bus
 * @root_bus: such as "pci0000:00"; empty if the tree does not tell
 * @port: where the configuration space does not tell, inferred from its place
 * @config_seen: the configuration space could be read, of Express devices the extended part, too, which only root
 *	can. Else @has_... say nothing.
 * @config_cut: root could read it, but not the extended part: the kernel or a hypervisor has no way there
 * @acs_at: where in the configuration space the ACS capability is
 * @rebar: of each BAR, the sizes it can be given: bit N is 1 MiB << N
 * @master: bus mastering is on
 * @is_virtual: an SR-IOV virtual function, as its host sees it
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

/** struct numa_node - @package: the processor it belongs to, -1 if unknown */
struct numa_node {
	int id;
	int package;
};

/**
 * struct machine - @at is sorted by address; a device's index is its place there
 * @is_guest: a virtual machine, whose hypervisor makes up bridges as it likes; not one with the emulated GPU, for which
 *	QEMU's bridges are the real ones
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
 * 0, or -errno of the list of devices: -ENOENT on a machine without PCI, -E2BIG where there are more pairs than
 * MACHINE_MAX_PAIRS, which somebody has made up. After an error nothing is to be freed.
 * A device whose files cannot be read is left out only where it has no
 * address; else its fields are those for "unknown". Parents never form a loop.
 */
int machine_read(const struct tree *tree, struct machine *out);
void machine_free(struct machine *m);

/* NULL if there is none. */
const struct device *machine_find(const struct machine *m, const char *name);
const struct numa_node *machine_node(const struct machine *m, int id);

/* A GPU, or something that could be a peer of one and is not virtual. */
bool device_is_peer(const struct device *d);

const char *device_kind_name(enum device_kind kind);	/* "GPU", "NIC", "RDMA", "NVMe" */

#endif
