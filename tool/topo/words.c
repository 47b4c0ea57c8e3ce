// SPDX-License-Identifier: MIT
#include <stdio.h>
#include "tool/machine/path.h"
#include "words.h"

struct topo_words words_of_speed(unsigned int mts)
{
	struct topo_words w;

	snprintf(w.at, sizeof(w.at), "%g GT/s", mts / 1000.0);
	return w;
}

struct topo_words words_of_link(const struct machine *m, int device)
{
	struct link link = path_link(m, device);
	struct topo_words w = { "" };
	int n;

	if (!link.width)
		return w;
	n = snprintf(w.at, sizeof(w.at), "x%u at %s", link.width, words_of_speed(link.speed_mts).at);
	if (link_is_degraded(&link))
		snprintf(w.at + n, sizeof(w.at) - (size_t)n, " (could be x%u at %s)", link.max_width,
			 words_of_speed(link.max_speed_mts).at);
	return w;
}

struct topo_words words_of_node(const struct machine *m, int node)
{
	const struct numa_node *known = machine_node(m, node);
	struct topo_words w;

	if (!known)
		snprintf(w.at, sizeof(w.at), m->nr_nodes ? "NUMA node unknown" : "One NUMA node");
	else if (known->package < 0)
		snprintf(w.at, sizeof(w.at), "NUMA node %d", node);
	else
		snprintf(w.at, sizeof(w.at), "NUMA node %d, processor %d", node, known->package);
	return w;
}

const char *words_of_port(enum port_type port)
{
	static const char *const words[] = {
		[PORT_UNKNOWN] = "bridge",
		[PORT_CONVENTIONAL] = "PCI",
		[PORT_ENDPOINT] = "device",
		[PORT_IN_ROOT_COMPLEX] = "device",
		[PORT_ROOT] = "root port",
		[PORT_UPSTREAM] = "switch",
		[PORT_DOWNSTREAM] = "port",
		[PORT_TO_PCI] = "to PCI",
	};

	return words[port];
}

const char *name_of_port(enum port_type port)
{
	static const char *const names[] = {
		[PORT_UNKNOWN] = "unknown",
		[PORT_CONVENTIONAL] = "conventional",
		[PORT_ENDPOINT] = "endpoint",
		[PORT_IN_ROOT_COMPLEX] = "in-root-complex",
		[PORT_ROOT] = "root",
		[PORT_UPSTREAM] = "upstream",
		[PORT_DOWNSTREAM] = "downstream",
		[PORT_TO_PCI] = "to-pci",
	};

	return names[port];
}
