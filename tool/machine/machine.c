// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tool/util/grow.h"
#include "guest.h"
#include "machine.h"
#include "path.h"
#include "pci_device.h"

static int add_device(void *arg, const char *name)
{
	struct machine *m = arg;

	if (!is_pci_address(name) || strlen(name) >= sizeof(m->at->name))
		return 0;
	m->at = grow(m->at, m->count, sizeof(*m->at));
	strcpy(m->at[m->count].name, name);
	device_read(m->tree, &m->at[m->count++]);
	return 0;
}

static int compare_name(const void *name, const void *device)
{
	return strcmp(name, ((const struct device *)device)->name);
}

const struct device *machine_find(const struct machine *m, const char *name)
{
	return m->count ? bsearch(name, m->at, m->count, sizeof(*m->at), compare_name) : NULL;
}

static int index_of(const struct machine *m, const char *name)
{
	const struct device *d = machine_find(m, name);

	return d ? (int)(d - m->at) : NO_PARENT;
}

/* ---- parents and root buses ----------------------------------------------------- */

/*
 * Finds the parent and the root bus. @path is the target of the device's link. It ends in the root bus, the bridges and
 * the device: "pci0000:00/0000:00:01.0/0000:01:00.0". place() cuts off components from its end.
 */
static void place(const struct machine *m, struct device *d, char *path)
{
	char *name = strrchr(path, '/');

	d->parent = NO_PARENT;
	while (name) {
		*name = '\0';
		name = strrchr(path, '/');
		if (!name)
			return;
		if (d->parent == NO_PARENT)
			d->parent = index_of(m, name + 1);
		if (!strncmp(name + 1, "pci", 3)) {
			snprintf(d->root_bus, sizeof(d->root_bus), "%s", name + 1);
			return;
		}
	}
}

static void place_all(struct machine *m)
{
	char path[4096];
	size_t i;

	for (i = 0; i < m->count; i++) {
		struct device *d = &m->at[i];

		d->parent = NO_PARENT;
		if (!tree_target(m->tree, tree_path("sys/bus/pci/devices/%s", d->name).at, path, sizeof(path)))
			place(m, d, path);
	}
}

static bool is_too_deep(const struct machine *m, const struct device *d)
{
	int depth;

	for (depth = 0; d->parent != NO_PARENT; depth++) {
		if (depth == PATH_MAX_DEPTH)
			return true;
		d = &m->at[d->parent];
	}
	return false;
}

/* In a forged tree the parents can form a loop, or a chain of more than PATH_MAX_DEPTH: make these devices roots. */
static void cut_loops(struct machine *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		if (is_too_deep(m, &m->at[i]))
			m->at[i].parent = NO_PARENT;
}

/* ---- kinds and ports, which depend on the parents ------------------------------- */

static void find_kinds(struct machine *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		m->at[i].kind = device_kind_of(&m->at[i]);
}

static bool is_express(const struct device *d)
{
	return d->link.speed_mts || d->link.width || d->link.max_speed_mts || d->link.max_width;
}

/* Port type of a bridge: below an upstream port a downstream port; with bridges below it an upstream port. */
static enum port_type infer_bridge(enum port_type above, bool bears_bridges)
{
	if (above == PORT_UPSTREAM)
		return PORT_DOWNSTREAM;
	return bears_bridges ? PORT_UPSTREAM : PORT_TO_PCI;
}

static enum port_type infer_port(const struct device *d, enum port_type above, bool bears_bridges)
{
	bool is_bridge = d->kind == DEVICE_BRIDGE;

	if (!is_express(d))
		return PORT_CONVENTIONAL;
	if (d->parent == NO_PARENT && is_bridge)
		return PORT_ROOT;
	if (d->parent == NO_PARENT && !d->link.width)
		return PORT_IN_ROOT_COMPLEX;	/* the device has no link */
	return is_bridge ? infer_bridge(above, bears_bridges) : PORT_ENDPOINT;
}

/* Infers the type of the parent first, because the type of device @i depends on it. */
static enum port_type port_of(struct machine *m, int i, const bool *bears_bridges)
{
	struct device *d = &m->at[i];
	enum port_type above = PORT_UNKNOWN;

	if (d->parent != NO_PARENT)
		above = port_of(m, d->parent, bears_bridges);
	if (!d->config_seen && d->port == PORT_UNKNOWN)
		d->port = infer_port(d, above, bears_bridges[i]);
	return d->port;
}

static void infer_ports(struct machine *m)
{
	bool *bears_bridges = grow(NULL, 0, m->count + 1);
	size_t i;

	for (i = 0; i < m->count; i++)
		if (m->at[i].kind == DEVICE_BRIDGE && m->at[i].parent != NO_PARENT)
			bears_bridges[m->at[i].parent] = true;
	for (i = 0; i < m->count; i++)
		port_of(m, (int)i, bears_bridges);
	free(bears_bridges);
}

/* ---- NUMA nodes ----------------------------------------------------------------- */

static int package_of(const struct tree *t, const char *cpus)
{
	unsigned int cpu;
	int package;

	if (sscanf(cpus, "%6u", &cpu) != 1)
		return -1;	/* a node with memory only */
	if (tree_int(t, tree_path("sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu).at, &package))
		return -1;
	return package;
}

static int add_node(void *arg, const char *name)
{
	struct machine *m = arg;
	struct numa_node *node;
	int id, end = 0;

	if (sscanf(name, "node%6d%n", &id, &end) != 1 || name[end])
		return 0;
	m->nodes = grow(m->nodes, m->nr_nodes, sizeof(*m->nodes));
	node = &m->nodes[m->nr_nodes++];
	node->id = id;
	if (tree_line(m->tree, tree_path("sys/devices/system/node/%s/cpulist", name).at, node->cpus, sizeof(node->cpus)))
		node->cpus[0] = '\0';
	node->package = package_of(m->tree, node->cpus);
	return 0;
}

const struct numa_node *machine_node(const struct machine *m, int id)
{
	size_t i;

	for (i = 0; i < m->nr_nodes; i++)
		if (m->nodes[i].id == id)
			return &m->nodes[i];
	return NULL;
}

/* ---- limit ---------------------------------------------------------------------- */

/* Each pair of devices costs time and memory, so refuse a forged tree with too many pairs. */
static bool is_too_large(const struct machine *m)
{
	size_t gpus = 0, peers = 0, i;

	for (i = 0; i < m->count; i++) {
		gpus += m->at[i].kind == DEVICE_GPU && !m->at[i].is_virtual;
		peers += m->at[i].kind >= DEVICE_GPU && !m->at[i].is_virtual;
	}
	return gpus && peers > MACHINE_MAX_PAIRS / gpus;
}

/* ---- the machine ---------------------------------------------------------------- */

int machine_read(const struct tree *tree, struct machine *out)
{
	int ret;

	*out = (struct machine) { .tree = tree };
	ret = tree_list(tree, "sys/bus/pci/devices", add_device, out);
	if (ret)
		return ret;
	place_all(out);
	cut_loops(out);
	find_kinds(out);
	if (is_too_large(out)) {
		machine_free(out);
		return -E2BIG;
	}
	infer_ports(out);
	/* not an error: a kernel without NUMA has no such directory */
	tree_list(tree, "sys/devices/system/node", add_node, out);
	out->is_guest = guest_found(out);
	return 0;
}

void machine_free(struct machine *m)
{
	free(m->at);
	free(m->nodes);
	*m = (struct machine) { 0 };
}

bool device_is_peer(const struct device *d)
{
	return d->kind >= DEVICE_NIC && !d->is_virtual;
}

const char *device_kind_name(enum device_kind kind)
{
	static const char *const names[] = {
		[DEVICE_NONE] = "-",
		[DEVICE_BRIDGE] = "bridge",
		[DEVICE_GPU] = "GPU",
		[DEVICE_NIC] = "NIC",
		[DEVICE_RDMA] = "RDMA",
		[DEVICE_NVME] = "NVMe",
		[DEVICE_STORAGE] = "storage",
		[DEVICE_OTHER_MASTER] = "other",
	};

	return names[kind];
}
