// SPDX-License-Identifier: MIT
#include "tool/util/json.h"
#include "tool/machine/path.h"
#include "tool/machine/pci_name.h"
#include "topo.h"
#include "words.h"

static void add_int(struct json_object *o, const char *key, int value)
{
	json_object_object_add(o, key, json_object_new_int(value));
}

/* Adds a number; a negative value means unknown and becomes null. */
static void add_known(struct json_object *o, const char *key, int value)
{
	json_object_object_add(o, key, value < 0 ? NULL : json_object_new_int(value));
}

static void add_text_or_null(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, text && *text ? json_text(text) : NULL);
}

static void add_name(struct json_object *o, const char *key, const struct topo *t, int device)
{
	add_text_or_null(o, key, device < 0 ? NULL : t->machine.at[device].name);
}

static struct json_object *json_nodes(const struct machine *m)
{
	struct json_object *nodes = json_object_new_array(), *o;
	size_t i;

	for (i = 0; i < m->nr_nodes; i++) {
		o = json_object_new_object();
		add_int(o, "node", m->nodes[i].id);
		add_known(o, "processor", m->nodes[i].package);
		add_text_or_null(o, "cpus", m->nodes[i].cpus);
		json_object_array_add(nodes, o);
	}
	return nodes;
}

static struct json_object *json_link(const struct machine *m, int device)
{
	struct link link = path_link(m, device);
	struct json_object *o;

	if (!link.width)
		return NULL;
	o = json_object_new_object();
	json_add_u64(o, "width", link.width);
	json_add_u64(o, "mega_transfers", link.speed_mts);
	json_add_u64(o, "max_width", link.max_width);
	json_add_u64(o, "max_mega_transfers", link.max_speed_mts);
	json_add_u64(o, "mbytes_per_s", link_mbps(link.speed_mts, link.width));
	return o;
}

static struct json_object *json_device(const struct topo *t, int i)
{
	const struct device *d = &t->machine.at[i];
	const struct topo_device *shown = topo_find(t, i);
	struct json_object *o = json_object_new_object();

	json_add_text(o, "pci", d->name);
	add_text_or_null(o, "label", shown ? shown->label : NULL);
	json_add_text(o, "kind", device_kind_name(d->kind));
	json_add_text(o, "port", name_of_port(d->port));
	json_add_text(o, "name", shown && shown->model[0] ? shown->model : pci_name(d).at);
	add_int(o, "vendor", d->vendor);
	add_int(o, "device", d->device);
	add_int(o, "class", (int)d->class_code);
	add_text_or_null(o, "driver", d->driver);
	add_text_or_null(o, "rdma", d->rdma);
	json_add_text(o, "root_bus", d->root_bus);
	add_name(o, "parent", t, d->parent);
	add_known(o, "numa_node", d->numa_node);
	add_known(o, "iommu_group", d->iommu_group);
	add_text_or_null(o, "iommu_type", d->iommu_type);
	json_object_object_add(o, "link", json_link(&t->machine, i));
	return o;
}

static struct json_object *json_devices(const struct topo *t)
{
	struct json_object *devices = json_object_new_array();
	size_t i;

	for (i = 0; i < t->machine.count; i++)
		if (t->is_shown[i])
			json_object_array_add(devices, json_device(t, (int)i));
	return devices;
}

static struct json_object *json_bridges(const struct topo *t, const struct path *p)
{
	struct json_object *bridges = json_object_new_array();
	size_t i;

	for (i = 0; i < p->nr_bridges; i++)
		json_object_array_add(bridges, json_text(t->machine.at[p->bridges[i]].name));
	return bridges;
}

static struct json_object *json_pair(const struct topo *t, size_t gpu, size_t device)
{
	const struct topo_device *from = &t->devices[gpu], *to = &t->devices[device];
	struct json_object *o = json_object_new_object();
	struct path p;

	path_find(&t->machine, from->device, to->device, &p);
	json_add_text(o, "gpu", from->label);
	json_add_text(o, "device", to->label);
	json_add_text(o, "class", path_class_name(p.class));
	add_known(o, "nvlinks", topo_nvlinks(t, gpu, device));
	add_text_or_null(o, "way", path_case_text(p.case_of_guide));
	json_add_u64(o, "switches", p.nr_switches);
	json_object_object_add(o, "bridges", json_bridges(t, &p));
	add_name(o, "slowest_link", t, p.slowest);
	json_object_object_add(o, "mbytes_per_s", p.mbps ? json_object_new_uint64(p.mbps) : NULL);
	return o;
}

static struct json_object *json_pairs(const struct topo *t)
{
	struct json_object *pairs = json_object_new_array();
	size_t i, j;

	for (i = 0; i < t->nr_gpus; i++)
		for (j = 0; j < t->count; j++)
			if (i != j)
				json_object_array_add(pairs, json_pair(t, i, j));
	return pairs;
}

void topo_json(const struct topo *t)
{
	struct json_object *o = json_output("peerpin-topo-1");

	json_object_object_add(o, "numa_nodes", json_nodes(&t->machine));
	json_object_object_add(o, "devices", json_devices(t));
	json_object_object_add(o, "pairs", json_pairs(t));
	json_object_object_add(o, "bridges_are_hidden", json_object_new_boolean(topo_is_hidden(t)));
	json_add_u64(o, "virtual_functions_not_shown", t->nr_virtual);
	json_print(o);
}
