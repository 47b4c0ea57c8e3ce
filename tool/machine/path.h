/* SPDX-License-Identifier: MIT */
/* The PCIe path between two devices. */
#ifndef PATH_H
#define PATH_H

#include "machine.h"

/* The classes of nvidia-smi topo -m, in order of distance. */
enum path_class {
	PATH_SELF,
	PATH_PIX,	/* at most one switch */
	PATH_PXB,	/* several switches, and no host bridge */
	PATH_PHB,	/* a host bridge */
	PATH_NODE,	/* several host bridges of one NUMA node */
	PATH_SYS,	/* the link between NUMA nodes */
};

/* The three situations of guide 11.4. */
enum path_case {
	PATH_SWITCHES_ONLY,
	PATH_ONE_CPU,
	PATH_TWO_CPUS,
	PATH_UNKNOWN,	/* one or two: a device's NUMA node is unknown */
};

enum {
	PATH_MAX_DEPTH = 32,	/* bridges above a device; machine_read() enforces it */
};

/**
 * struct path - from one device to another
 * @case_of_guide: PATH_ONE_CPU is possible in class PATH_SYS, if one processor has several NUMA nodes
 * @common: the lowest bridge above both devices; -1: only the root complex is above both
 * @bridges: indices in machine.at of all bridges on the path, @common once
 * @nr_switches: PCI Express switches and bridges to conventional PCI
 * @slowest: the device with the slowest upward link of the path; -1: no link is known
 * @mbps: bandwidth of that link in one direction, in MB/s, without the encoding
 */
struct path {
	enum path_class class;
	enum path_case case_of_guide;
	int common;
	int bridges[2 * PATH_MAX_DEPTH];
	size_t nr_bridges;
	unsigned int nr_switches;
	int slowest;
	uint64_t mbps;
};

/* @from, @to: indices into m->at */
void path_find(const struct machine *m, int from, int to, struct path *out);

/*
 * The link from a device upwards. Its max is the lower one of both ends; all fields are 0 if there is no link or it is
 * unknown. An idle GPU slows its link, so a speed below the max is not always a fault.
 */
struct link path_link(const struct machine *m, int i);

/*
 * Are the bridges above @device hidden or invented? True in a virtual machine, and for a device with a link but
 * no bridge above it, which exists only in virtual machines.
 */
bool path_is_hidden(const struct machine *m, int device);

/* Is the link narrower or slower than its max? */
bool link_is_degraded(const struct link *link);

const char *path_class_name(enum path_class class);	/* "PIX" */
const char *path_class_text(enum path_class class);	/* its meaning, one line */
const char *path_case_text(enum path_case c);		/* "": unknown */

/* Bandwidth in MB/s in one direction, without the encoding; 0 if unknown. */
uint64_t link_mbps(unsigned int speed_mts, unsigned int width);

#endif
