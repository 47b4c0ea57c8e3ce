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
	MACHINE_MAX_PAIRS = 65536,	/* pairs of a GPU with another GPU or with a peer */
};

/* Format for fail(), with the argument MACHINE_MAX_PAIRS */
#define MACHINE_TOO_LARGE "there are more than %d pairs of GPUs and peers, which no real machine has; give --root a " \
	"tree made by: peerpin doctor --capture FILE.tar"

enum device_kind {
	DEVICE_NONE,		/* a device that cannot be a peer: USB, sound, a part of a chipset */
	DEVICE_BRIDGE,		/* PCI-to-PCI bridge: root port, port of a switch */
	DEVICE_GPU,
	DEVICE_NIC,
	DEVICE_RDMA,		/* a PCI device of any class that has an RDMA device */
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
	PORT_UPSTREAM,		/* upstream port of a switch */
	PORT_DOWNSTREAM,	/* downstream port of a switch */
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

/** struct link - the link of a device to the port above, or of a port to the devices below. 0: unknown */
struct link {
	unsigned int speed_mts;	/* per lane, in MT/s: 8000 is 8 GT/s */
	unsigned int width;
	unsigned int max_speed_mts;
	unsigned int max_width;
};

/**
 * struct device - a PCI function
 * @name: PCI address, such as "0000:3b:00.0"
 * @parent: index of the bridge above; NO_PARENT: the device is on a root bus
 * @root_bus: name of the root bus, such as "pci0000:00"; empty if unknown
 * @port: type from the configuration space; if that is not readable, inferred from the topology
 * @config_seen: true if the configuration space was read. For Express devices this includes the extended part, which
 *	only root can read. If false, the fields @has_... have no meaning
 * @config_cut: true if root read the configuration space, but the kernel or hypervisor has no extended part
 * @acs_at: offset of the ACS capability in the configuration space
 * @rebar: sizes to which each BAR can be resized: bit N stands for 1 MiB << N
 * @bars, @bar_at: size and address of each BAR; size 0: no such BAR
 * @master: bus mastering is on
 * @is_virtual: the device is an SR-IOV virtual function, seen from its host
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
	char rdma[RDMA_NAME_SIZE];	/* name of the RDMA device, such as "mlx5_0"; "": none */
	int numa_node;		/* id of the NUMA node, or NO_NODE */
	int iommu_group;	/* number of the IOMMU group, or NO_GROUP */
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
	uint64_t bars[PCI_NR_BARS];	/* sizes in bytes; 0: no BAR */
	uint64_t bar_at[PCI_NR_BARS];
};

/**
 * struct numa_node
 * @package: number of the node's processor; -1: unknown, or the node has only memory
 * @cpus: its CPUs, such as "0-31,64-95"; "": unknown, or the node has only memory
 */
struct numa_node {
	int id;
	int package;
	char cpus[128];
};

/**
 * struct machine - all PCI devices and NUMA nodes
 * @at: devices, sorted by address; the index of a device is its position here
 * @is_guest: true in a virtual machine, whose bridges do not show the real topology. False with the emulated GPU: its
 *	topology is that of QEMU's bridges
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
 * Returns 0 or -errno: -ENOENT the machine has no PCI, -E2BIG more pairs than MACHINE_MAX_PAIRS (a forged tree), or
 * another error of listing the devices. After an error the caller frees nothing.
 * A device whose files cannot be read stays in the list, with unknown fields. Parents never form a loop.
 */
int machine_read(const struct tree *tree, struct machine *out);
void machine_free(struct machine *m);

/* Find a device by address, or a node by id; NULL if not found. */
const struct device *machine_find(const struct machine *m, const char *name);
const struct numa_node *machine_node(const struct machine *m, int id);

/* Can this device be a peer of a GPU? False for virtual functions and GPUs. */
bool device_is_peer(const struct device *d);

const char *device_kind_name(enum device_kind kind);	/* "GPU", "NIC", "RDMA", "NVMe" */

#endif
