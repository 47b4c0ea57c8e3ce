/* SPDX-License-Identifier: MIT */
/*
 * Where in a picture a topology's parts go. Host bridges and switches are bars
 * as wide as all that is below them, so that every link is a vertical line.
 * Root ports and the lower ports of switches are not drawn: they are where the
 * lines begin.
 */
#ifndef TOPO_LAYOUT_H
#define TOPO_LAYOUT_H

#include "topo.h"

enum box_kind {
	BOX_ROOT,	/* a root bus: @index in topo.roots */
	BOX_SWITCH,	/* @index in the machine, of its upstream port */
	BOX_DEVICE,	/* @index in topo.devices */
};

/** struct box - @above: the box that its link goes to, -1 of a root bus; all else in pixels */
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

/** struct socket - a frame around what belongs to a NUMA node: boxes from @first to before @end */
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
