/* SPDX-License-Identifier: MIT */
/* The PCIe path between two devices. */
#ifndef PATH_H
#define PATH_H

#include "machine.h"

/* The classes of nvidia-smi topo -m, in order of distance. The comment names what is on the path. */
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
	PATH_UNKNOWN,	/* one CPU or two: the NUMA node of a device is unknown */
};

enum {
	PATH_MAX_DEPTH = 32,	/* largest number of bridges above a device; machine_read() enforces it */
};

/**
 * struct path - the path from one device to another
 * @case_of_guide: situation of the guide. PATH_SYS can be PATH_ONE_CPU: one processor may have several NUMA nodes
 * @common: the lowest bridge above both devices; -1: only the root complex is above both
 * @bridges: indices in machine.at of all bridges on the path, in order; @common is listed once
 * @nr_switches: number of PCI Express switches and bridges to conventional PCI
 * @slowest: the device below the slowest link of the path; -1: no link is known
 * @mbps: bandwidth of the slowest link in one direction, in MB/s, without the encoding
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
 * The link from a device upwards. Its maximum is the lower maximum of both ends. All fields are 0 if the link is
 * unknown or does not exist. An idle GPU slows its link, so a speed below the maximum is not always a fault.
 */
struct link path_link(const struct machine *m, int i);

/*
 * Are the real bridges above @device hidden? True in a virtual machine. Also true for a device with a link but no
 * bridge above it: such devices exist only in virtual machines.
 */
bool path_is_hidden(const struct machine *m, int device);

/* Is the link narrower or slower than its maximum? */
bool link_is_degraded(const struct link *link);

const char *path_class_name(enum path_class class);	/* "PIX" */
const char *path_class_text(enum path_class class);	/* the meaning of the class, one line */
const char *path_case_text(enum path_case c);		/* the situation, one line; "": unknown */

/* Bandwidth in MB/s in one direction, without the encoding; 0 if unknown. */
uint64_t link_mbps(unsigned int speed_mts, unsigned int width);

#endif
