/* SPDX-License-Identifier: MIT */
/*
 * The layout of a topology's picture. A host bridge or switch is a bar as wide as all
 * boxes below it, so that every link is a vertical line. Root ports and downstream ports
 * have no box: the line of a link begins at the bar.
 */
#ifndef TOPO_LAYOUT_H
#define TOPO_LAYOUT_H

#include "topo.h"

enum box_kind {
	BOX_ROOT,	/* a root bus: @index in topo.roots */
	BOX_SWITCH,	/* a switch: @index of its upstream port in machine.at */
	BOX_DEVICE,	/* a device: @index in topo.devices */
};

/** struct box - in pixels; @above: index of the box at the upper end of the link; -1: a root bus, which has no link */
struct box {
	enum box_kind kind;
	int index;
	int above;
	int row;
	int x;
	int y;
	int width;
	int height;
};

/** struct socket - the frame of a NUMA node, in pixels, around the boxes @first to @end - 1 */
struct socket {
	int node;
	size_t first;
	size_t end;
	int x;
	int y;
	int width;
	int height;
};

struct layout {
	struct box *boxes;
	size_t nr_boxes;
	struct socket *sockets;
	size_t nr_sockets;
	int width;
	int height;
};

void layout_find(const struct topo *t, struct layout *out);
void layout_free(struct layout *l);

#endif
