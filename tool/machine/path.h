/* SPDX-License-Identifier: MIT */
/* What lies between two devices. */
#ifndef PATH_H
#define PATH_H

#include "machine.h"

/* As nvidia-smi topo -m has them. Each is farther than the one before it. */
enum path_class {
	PATH_SELF,
	PATH_PIX,	/* at most one switch */
	PATH_PXB,	/* several switches, and no host bridge */
	PATH_PHB,	/* a host bridge */
	PATH_NODE,	/* several host bridges of one NUMA node */
	PATH_SYS,	/* the link between NUMA nodes */
};

/* The three situations of seed 11.4. */
enum path_case {
	PATH_SWITCHES_ONLY,
	PATH_ONE_CPU,
	PATH_TWO_CPUS,
	PATH_UNKNOWN,	/* one or two: a device's NUMA node is unknown */
};

enum {
	PATH_MAX_DEPTH = 32,	/* bridges above a device; machine_read() sees to it */
};

/**
 * struct path - from one device to another
 * @case_of_guide: can be PATH_ONE_CPU in class PATH_SYS: the NUMA nodes are halves of one processor
 * @common: the lowest bridge that is above both, or -1: there is none but the root complex
 * @bridges: all bridges on the way, @common once, as indices into machine.at
 * @nr_switches: of PCI Express, and bridges to conventional PCI
 * @slowest: the device whose link to what is above it is the slowest on the way, -1 if no link is known
 * @mbps: what that link can carry one way, in MB/s, without its encoding
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
 * Between a device and what is above it. Its max is what both ends can do; all 0 where there is no link, or it is
 * unknown. An idle GPU slows its link, so less than the max need not be a fault.
 */
struct link path_link(const struct machine *m, int i);

/*
 * Are the bridges above it hidden, or not the real ones? So in a virtual machine; and a device that has a link but no
 * bridge above it is in one, too, whatever else that says of itself: no real machine has that.
 */
bool path_is_hidden(const struct machine *m, int device);

/* Is it narrower or slower than it could be? */
bool link_is_degraded(const struct link *link);

const char *path_class_name(enum path_class class);	/* "PIX" */
const char *path_class_text(enum path_class class);	/* a line that explains it */
const char *path_case_text(enum path_case c);		/* "": unknown */

/* In MB/s one way, without the encoding; 0 if it is unknown. */
uint64_t link_mbps(unsigned int speed_mts, unsigned int width);

#endif
