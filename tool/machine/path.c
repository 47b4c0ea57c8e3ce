// SPDX-License-Identifier: MIT
#include <string.h>
#include "path.h"

/** struct chain - the bridges above a device, the lowest first */
struct chain {
	int at[PATH_MAX_DEPTH];
	size_t count;
};

static void climb(const struct machine *m, int i, struct chain *out)
{
	out->count = 0;
	for (i = m->at[i].parent; i != NO_PARENT && out->count < PATH_MAX_DEPTH; i = m->at[i].parent)
		out->at[out->count++] = i;
}

/* Removes the common end of both chains and returns the lowest common bridge. */
static int meet(struct chain *a, struct chain *b)
{
	int common = NO_PARENT;

	while (a->count && b->count && a->at[a->count - 1] == b->at[b->count - 1]) {
		common = a->at[--a->count];
		b->count--;
	}
	return common;
}

static void join(const struct chain *up, const struct chain *down, struct path *p)
{
	size_t i;

	for (i = 0; i < up->count; i++)
		p->bridges[p->nr_bridges++] = up->at[i];
	if (p->common != NO_PARENT)
		p->bridges[p->nr_bridges++] = p->common;
	for (i = down->count; i > 0; i--)
		p->bridges[p->nr_bridges++] = down->at[i - 1];
}

/* ---- how far -------------------------------------------------------------------- */

/* Does this bridge count as a switch? Yes: the upstream port of a switch, and a conventional PCI bridge. */
static bool is_switch(const struct device *bridge)
{
	return bridge->port == PORT_UPSTREAM || bridge->port == PORT_TO_PCI || bridge->port == PORT_CONVENTIONAL;
}

static unsigned int count_switches(const struct machine *m, const struct path *p)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < p->nr_bridges; i++)
		n += is_switch(&m->at[p->bridges[i]]);
	return n;
}

/* Are both devices on one NUMA node? Always true on a machine with one node; else false if a node is unknown. */
static bool same_node(const struct machine *m, const struct device *a, const struct device *b)
{
	return m->nr_nodes <= 1 || (a->numa_node == b->numa_node && a->numa_node != NO_NODE);
}

static enum path_class class_of(const struct machine *m, const struct path *p, const struct device *a,
				const struct device *b)
{
	if (p->common != NO_PARENT)
		return p->nr_switches <= 1 ? PATH_PIX : PATH_PXB;
	if (!strcmp(a->root_bus, b->root_bus))
		return PATH_PHB;
	return same_node(m, a, b) ? PATH_NODE : PATH_SYS;
}

/* Are both devices at one processor? A processor can have several NUMA nodes. */
static bool same_package(const struct machine *m, const struct device *a, const struct device *b)
{
	const struct numa_node *x = machine_node(m, a->numa_node), *y = machine_node(m, b->numa_node);

	return x && y && x->package == y->package && x->package >= 0;
}

/* Has the machine only one processor? Skips nodes without a processor: they have only memory. */
static bool one_package(const struct machine *m)
{
	int package = -1;
	size_t i;

	for (i = 0; i < m->nr_nodes; i++) {
		if (m->nodes[i].package < 0)
			continue;
		if (package >= 0 && m->nodes[i].package != package)
			return false;
		package = m->nodes[i].package;
	}
	return package >= 0;
}

static enum path_case case_between_nodes(const struct machine *m, const struct device *a, const struct device *b)
{
	if (a->numa_node == NO_NODE || b->numa_node == NO_NODE)
		return one_package(m) ? PATH_ONE_CPU : PATH_UNKNOWN;
	return same_package(m, a, b) ? PATH_ONE_CPU : PATH_TWO_CPUS;
}

static enum path_case case_of(const struct machine *m, enum path_class class, const struct device *a,
			      const struct device *b)
{
	if (class <= PATH_PXB)
		return PATH_SWITCHES_ONLY;
	return class == PATH_SYS ? case_between_nodes(m, a, b) : PATH_ONE_CPU;
}

/* ---- how fast ------------------------------------------------------------------- */

/* Encoding: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, then flits of 256 bytes with 236 bytes of packets. */
uint64_t link_mbps(unsigned int speed_mts, unsigned int width)
{
	uint64_t megabits = (uint64_t)speed_mts * width;

	if (speed_mts <= 5000)
		return megabits / 10;
	if (speed_mts <= 32000)
		return megabits * 128 / 130 / 8;
	return megabits * 236 / 256 / 8;
}

/* Does @d->link lead upwards? The link of a root port or downstream port leads downwards. */
static bool link_is_above(const struct device *d)
{
	return d->port == PORT_ENDPOINT || d->port == PORT_UPSTREAM || d->port == PORT_TO_PCI;
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return b && b < a ? b : a;
}

static unsigned int most(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

/* In a VM the emulated port above may report a maximum below the device's current link: then use the current link. */
struct link path_link(const struct machine *m, int i)
{
	const struct device *d = &m->at[i];
	struct link link = d->link, none = { 0 };

	if (!link_is_above(d) || !link.speed_mts || !link.width)
		return none;
	if (d->parent != NO_PARENT) {
		link.max_speed_mts = least(link.max_speed_mts, m->at[d->parent].link.max_speed_mts);
		link.max_width = least(link.max_width, m->at[d->parent].link.max_width);
	}
	link.max_speed_mts = most(link.max_speed_mts, link.speed_mts);
	link.max_width = most(link.max_width, link.width);
	return link;
}

bool path_is_hidden(const struct machine *m, int device)
{
	return m->is_guest || (m->at[device].parent == NO_PARENT && path_link(m, device).width);
}

bool link_is_degraded(const struct link *link)
{
	return link->speed_mts < link->max_speed_mts || link->width < link->max_width;
}

static void pass_link(const struct machine *m, int i, struct path *p)
{
	struct link link = path_link(m, i);
	uint64_t mbps = link_mbps(link.speed_mts, link.width);

	if (!mbps || (p->mbps && p->mbps <= mbps))
		return;
	p->mbps = mbps;
	p->slowest = i;
}

static void find_slowest(const struct machine *m, int from, int to, struct path *p)
{
	size_t i;

	pass_link(m, from, p);
	for (i = 0; i < p->nr_bridges; i++)
		if (p->bridges[i] != p->common)
			pass_link(m, p->bridges[i], p);
	pass_link(m, to, p);
}

/* --------------------------------------------------------------------------------- */

void path_find(const struct machine *m, int from, int to, struct path *out)
{
	const struct device *a = &m->at[from], *b = &m->at[to];
	struct chain up, down;

	*out = (struct path) { .common = NO_PARENT, .slowest = -1 };
	if (from == to)
		return;
	climb(m, from, &up);
	climb(m, to, &down);
	out->common = meet(&up, &down);
	join(&up, &down, out);
	out->nr_switches = count_switches(m, out);
	out->class = class_of(m, out, a, b);
	out->case_of_guide = case_of(m, out->class, a, b);
	find_slowest(m, from, to, out);
}

const char *path_class_name(enum path_class class)
{
	static const char *const names[] = {
		[PATH_SELF] = "X",
		[PATH_PIX] = "PIX",
		[PATH_PXB] = "PXB",
		[PATH_PHB] = "PHB",
		[PATH_NODE] = "NODE",
		[PATH_SYS] = "SYS",
	};

	return names[class];
}

const char *path_class_text(enum path_class class)
{
	static const char *const texts[] = {
		[PATH_SELF] = "the device itself",
		[PATH_PIX] = "at most one PCIe switch",
		[PATH_PXB] = "several PCIe switches, but no processor",
		[PATH_PHB] = "a PCIe host bridge of a processor",
		[PATH_NODE] = "several host bridges of one NUMA node",
		[PATH_SYS] = "the link between NUMA nodes",
	};

	return texts[class];
}

const char *path_case_text(enum path_case c)
{
	static const char *const texts[] = {
		[PATH_SWITCHES_ONLY] = "PCIe switches only",
		[PATH_ONE_CPU] = "a single processor",
		[PATH_TWO_CPUS] = "two processors and the link between them",
		[PATH_UNKNOWN] = "",
	};

	return texts[c];
}
