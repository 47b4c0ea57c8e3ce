// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include "tool/util/grow.h"
#include "layout.h"

/* Sizes in pixels */
enum {
	MARGIN = 30,
	TITLE_HEIGHT = 76,
	LEGEND_HEIGHT = 92,
	LEAST_WIDTH = 1060,	/* width of the legend */
	MOST_WIDTH = 1700,	/* maximum width of a line that has several sockets */
	SOCKET_HEAD = 40,
	SOCKET_PAD = 18,
	SOCKET_GAP = 110,	/* room for a link and its name */
	LINE_GAP = 44,
	ROOT_GAP = 20,
	DEVICE_GAP = 12,
	DEVICE_WIDTH = 104,
	DEVICE_HEIGHT = 100,
	BAR_HEIGHT = 42,
	LINK_HEIGHT = 66,
};

static struct box *add_box(struct layout *l, enum box_kind kind, int index, int above, int x)
{
	struct box *b;

	l->boxes = grow(l->boxes, l->nr_boxes, sizeof(*l->boxes));
	b = &l->boxes[l->nr_boxes++];
	b->kind = kind;
	b->index = index;
	b->above = above;
	b->row = above < 0 ? 0 : l->boxes[above].row + 1;
	b->x = x;
	return b;
}

static int entry_of(const struct topo *t, int device)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (t->devices[i].device == device)
			return (int)i;
	return -1;
}

/* Has this bridge a box? Yes: the upstream port of a switch, and a bridge to conventional PCI. No: all other ports. */
static bool is_drawn(const struct device *bridge)
{
	return bridge->port != PORT_ROOT && bridge->port != PORT_DOWNSTREAM;
}

static int place_below(const struct topo *t, struct layout *l, const char *root, int parent, int above, int x);

/* place_bridge() and place_below() return the x of the right edge of the boxes that they add. */
static int place_bridge(const struct topo *t, struct layout *l, int device, int above, int x)
{
	const struct device *d = &t->machine.at[device];
	int box = (int)l->nr_boxes, end;

	if (!is_drawn(d))
		return place_below(t, l, d->root_bus, device, above, x);
	add_box(l, BOX_SWITCH, device, above, x);
	end = place_below(t, l, d->root_bus, device, box, x);
	l->boxes[box].width = end - x;
	l->boxes[box].height = BAR_HEIGHT;
	return end;
}

static int place_device(const struct topo *t, struct layout *l, int device, int above, int x)
{
	int entry = entry_of(t, device);
	struct box *b;

	if (entry < 0)
		return place_bridge(t, l, device, above, x);
	b = add_box(l, BOX_DEVICE, entry, above, x);
	b->width = DEVICE_WIDTH;
	b->height = DEVICE_HEIGHT;
	return x + DEVICE_WIDTH;
}

static int place_below(const struct topo *t, struct layout *l, const char *root, int parent, int above, int x)
{
	int end = x;
	size_t i;

	for (i = 0; i < t->machine.count; i++) {
		const struct device *d = &t->machine.at[i];

		if (!t->is_shown[i] || d->parent != parent || strcmp(d->root_bus, root))
			continue;
		end = place_device(t, l, (int)i, above, end == x ? x : end + DEVICE_GAP);
	}
	return end;
}

static int place_root(const struct topo *t, struct layout *l, int root, int x)
{
	int box = (int)l->nr_boxes, end;

	add_box(l, BOX_ROOT, root, -1, x);
	end = place_below(t, l, t->roots[root].name, NO_PARENT, box, x);
	l->boxes[box].width = end - x;
	l->boxes[box].height = BAR_HEIGHT;
	return end;
}

/* Adds the socket of the node of root bus @root. Returns the index of the next node's first root bus. */
static size_t place_socket(const struct topo *t, struct layout *l, size_t root)
{
	struct socket *s;
	int x = SOCKET_PAD;

	l->sockets = grow(l->sockets, l->nr_sockets, sizeof(*l->sockets));
	s = &l->sockets[l->nr_sockets++];
	s->node = t->roots[root].node;
	s->first = l->nr_boxes;
	for (; root < t->nr_roots && t->roots[root].node == s->node; root++)
		x = place_root(t, l, (int)root, x) + ROOT_GAP;
	s->end = l->nr_boxes;
	s->width = x - ROOT_GAP + SOCKET_PAD;
	return root;
}

/* Places each socket at the origin; lay_lines() moves the sockets to their places. */
static void place_sockets(const struct topo *t, struct layout *l)
{
	size_t root = 0;

	while (root < t->nr_roots)
		root = place_socket(t, l, root);
}

/* ---- rows ----------------------------------------------------------------------- */

/* Index of the last row, which holds all devices. */
static int last_row(const struct layout *l)
{
	int row = 0;
	size_t i;

	for (i = 0; i < l->nr_boxes; i++)
		if (l->boxes[i].row > row)
			row = l->boxes[i].row;
	return row;
}

static int set_rows(struct layout *l)
{
	int last = last_row(l);
	size_t i;

	for (i = 0; i < l->nr_boxes; i++) {
		struct box *b = &l->boxes[i];

		if (b->kind == BOX_DEVICE)
			b->row = last;
		b->y = SOCKET_HEAD + b->row * (BAR_HEIGHT + LINK_HEIGHT);
	}
	return SOCKET_HEAD + last * (BAR_HEIGHT + LINK_HEIGHT) + DEVICE_HEIGHT + SOCKET_PAD;
}

/* ---- lines of sockets ----------------------------------------------------------- */

static void move(struct layout *l, struct socket *s, int x, int y)
{
	size_t i;

	s->x += x;
	s->y += y;
	for (i = s->first; i < s->end; i++) {
		l->boxes[i].x += x;
		l->boxes[i].y += y;
	}
}

static int total_width(const struct layout *l)
{
	int width = 2 * MARGIN - SOCKET_GAP;
	size_t i;

	for (i = 0; i < l->nr_sockets; i++)
		width += l->sockets[i].width + SOCKET_GAP;
	return width;
}

static int package_of(const struct machine *m, const struct socket *s)
{
	const struct numa_node *node = machine_node(m, s->node);

	return node ? node->package : -1;
}

/* Does socket @i begin a new line? If one line is too narrow for all sockets, each processor begins a new line. */
static bool begins_line(const struct machine *m, const struct layout *l, size_t i, int x)
{
	const struct socket *s = &l->sockets[i];

	if (!i || total_width(l) <= MOST_WIDTH)
		return false;
	return x + s->width + MARGIN > MOST_WIDTH || package_of(m, s) != package_of(m, s - 1);
}

/* Moves the sockets into lines, so that a picture of eight GPUs fits on a slide. */
static void lay_lines(const struct machine *m, struct layout *l, int height)
{
	int x = MARGIN, y = TITLE_HEIGHT;
	size_t i;

	for (i = 0; i < l->nr_sockets; i++) {
		struct socket *s = &l->sockets[i];

		if (begins_line(m, l, i, x)) {
			x = MARGIN;
			y += height + LINE_GAP;
		}
		s->height = height;
		move(l, s, x, y);
		x += s->width + SOCKET_GAP;
		if (x - SOCKET_GAP + MARGIN > l->width)
			l->width = x - SOCKET_GAP + MARGIN;
	}
	l->height = y + LEGEND_HEIGHT + (l->nr_sockets ? height : 0);
}

/* Centres a picture that is narrower than the legend. */
static void centre(struct layout *l)
{
	int by = (LEAST_WIDTH - l->width) / 2;
	size_t i;

	if (by <= 0)
		return;
	for (i = 0; i < l->nr_sockets; i++)
		move(l, &l->sockets[i], by, 0);
	l->width = LEAST_WIDTH;
}

void layout_find(const struct topo *t, struct layout *out)
{
	*out = (struct layout) { 0 };
	place_sockets(t, out);
	lay_lines(&t->machine, out, set_rows(out));
	centre(out);
}

void layout_free(struct layout *l)
{
	free(l->boxes);
	free(l->sockets);
	*l = (struct layout) { 0 };
}
