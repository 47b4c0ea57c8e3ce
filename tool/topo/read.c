// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tool/util/grow.h"
#include "tool/machine/path.h"
#include "tool/util/printable.h"
#include "topo.h"

/* Reads the model from the GPU's driver ("Model: \t\t NVIDIA H200"), because pci.ids lacks the newest GPUs. */
static void read_model(const struct topo *t, struct topo_device *d)
{
	static const char key[] = "Model:";
	char text[1024], *value;

	if (tree_read(t->machine.tree, tree_path("proc/driver/nvidia/gpus/%s/information",
						 t->machine.at[d->device].name).at, text, sizeof(text)) < 0)
		return;
	if (strncmp(text, key, sizeof(key) - 1))
		return;
	value = text + sizeof(key) - 1;
	value += strspn(value, " \t");
	value[strcspn(value, "\n")] = '\0';
	make_printable(value);
	snprintf(d->model, sizeof(d->model), "%s", value);
}

static void show(struct topo *t, int device, const char *label)
{
	struct topo_device *d;

	t->devices = grow(t->devices, t->count, sizeof(*t->devices));
	d = &t->devices[t->count++];
	d->device = device;
	snprintf(d->label, sizeof(d->label), "%s", label);
	read_model(t, d);
	for (; device != NO_PARENT; device = t->machine.at[device].parent)
		t->is_shown[device] = true;
}

/* Adds the devices of one kind. The label of an RDMA device is its name; other labels are kind and number. */
static void show_kind(struct topo *t, enum device_kind kind, const char *name)
{
	char label[40];
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < t->machine.count; i++) {
		const struct device *d = &t->machine.at[i];

		if (d->kind != kind || d->is_virtual)
			continue;
		snprintf(label, sizeof(label), "%s%u", name, n++);
		show(t, (int)i, kind == DEVICE_RDMA ? d->rdma : label);
	}
}

static void show_all(struct topo *t)
{
	show_kind(t, DEVICE_GPU, "GPU");
	t->nr_gpus = t->count;
	show_kind(t, DEVICE_RDMA, "RDMA");
	show_kind(t, DEVICE_NIC, "NIC");
	show_kind(t, DEVICE_NVME, "NVMe");
	show_kind(t, DEVICE_STORAGE, "disk");
	show_kind(t, DEVICE_OTHER_MASTER, "dev");
}

static void count_virtual(struct topo *t)
{
	size_t i;

	for (i = 0; i < t->machine.count; i++)
		t->nr_virtual += t->machine.at[i].is_virtual;
}

/* ---- root buses ----------------------------------------------------------------- */

static struct topo_root *find_root(struct topo *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->nr_roots; i++)
		if (!strcmp(t->roots[i].name, name))
			return &t->roots[i];
	return NULL;
}

static struct topo_root *get_root(struct topo *t, const char *name)
{
	struct topo_root *root = find_root(t, name);

	if (root)
		return root;
	t->roots = grow(t->roots, t->nr_roots, sizeof(*t->roots));
	root = &t->roots[t->nr_roots++];
	strcpy(root->name, name);
	root->node = NO_NODE;
	return root;
}

/* Returns the NUMA node of a device. On a machine with one node, a device with an unknown node is on that node. */
static int node_of(const struct topo *t, const struct device *d)
{
	if (d->numa_node == NO_NODE && t->machine.nr_nodes == 1)
		return t->machine.nodes[0].id;
	return d->numa_node;
}

static int compare_roots(const void *a, const void *b)
{
	const struct topo_root *x = a, *y = b;

	if (x->node != y->node)
		return (unsigned int)x->node < (unsigned int)y->node ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void find_roots(struct topo *t)
{
	size_t i;

	for (i = 0; i < t->machine.count; i++) {
		const struct device *d = &t->machine.at[i];
		struct topo_root *root;

		if (!t->is_shown[i])
			continue;
		root = get_root(t, d->root_bus);
		if (root->node == NO_NODE)
			root->node = node_of(t, d);
	}
	if (t->nr_roots)
		qsort(t->roots, t->nr_roots, sizeof(*t->roots), compare_roots);
}

/* NVML takes a second to wake GPUs, so the command asks NVML only if there are two GPUs or more. */
static int read_nvlinks(const struct tree *tree, struct topo *t)
{
	if (t->nr_gpus < 2)
		return 0;
	t->facts = malloc(sizeof(*t->facts));
	return t->facts ? facts_read_nvml(tree, t->facts) : -ENOMEM;
}

int topo_read(const struct tree *tree, struct topo *out)
{
	int ret;

	*out = (struct topo) { 0 };
	ret = machine_read(tree, &out->machine);
	if (ret)
		return ret;
	out->is_shown = grow(NULL, 0, out->machine.count + 1);
	show_all(out);
	count_virtual(out);
	find_roots(out);
	tree_line(tree, "sys/class/dmi/id/product_name", out->product, sizeof(out->product));
	ret = read_nvlinks(tree, out);
	if (ret)
		topo_free(out);
	return ret;
}

void topo_free(struct topo *t)
{
	machine_free(&t->machine);
	free(t->devices);
	free(t->is_shown);
	free(t->roots);
	free(t->facts);
	*t = (struct topo) { 0 };
}

const struct topo_device *topo_find(const struct topo *t, int device)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (t->devices[i].device == device)
			return &t->devices[i];
	return NULL;
}

int topo_nvlinks(const struct topo *t, size_t a, size_t b)
{
	const struct device *at = t->machine.at;

	if (a >= t->nr_gpus || b >= t->nr_gpus || a == b || !t->facts)
		return 0;
	if (!t->facts->nvlinks_known)
		return -1;
	return (int)facts_nvlinks(t->facts, at[t->devices[a].device].name, at[t->devices[b].device].name);
}

int topo_node(const struct topo *t, int device)
{
	return node_of(t, &t->machine.at[device]);
}

const char *topo_label(const struct topo *t, int device)
{
	const struct topo_device *d = topo_find(t, device);

	return d ? d->label : NULL;
}

bool topo_is_hidden(const struct topo *t)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (path_is_hidden(&t->machine, t->devices[i].device))
			return true;
	return false;
}
