// SPDX-License-Identifier: MIT
/* Draws the topology as SVG. */
#include <string.h>
#include "tool/util/markup.h"
#include "tool/machine/path.h"
#include "tool/machine/pci_name.h"
#include "topo.h"
#include "layout.h"
#include "words.h"

/** struct paint - colours of a box; @edge: colour of the edge and of the text */
struct paint {
	const char *fill;
	const char *edge;
};

static const struct paint gpu_paint = { "#1d4f91", "#123763" };
static const struct paint plain_paint = { "#f1f3f5", "#5c6773" };
static const char dark[] = "#1f2933", grey[] = "#5c6773", white[] = "#ffffff", alarm[] = "#d9480f";

static const struct paint class_paints[] = {
	[PATH_SELF] = { "#f1f3f5", "#5c6773" },
	[PATH_PIX] = { "#d8f3e0", "#1b7f43" },
	[PATH_PXB] = { "#e6f5d6", "#55821a" },
	[PATH_PHB] = { "#fff3c4", "#946c00" },
	[PATH_NODE] = { "#ffe3c7", "#b45309" },
	[PATH_SYS] = { "#fbdcd9", "#b42318" },
};

enum {
	TEXT_PAD = 8,		/* free space left and right of the text in a box, together */
	LINK_TEXT = 44,		/* distance from a link's text to the lower end of the link */
};

/* ---- elements ------------------------------------------------------------------- */

static void put_rect(FILE *f, int x, int y, int width, int height, const struct paint *p)
{
	fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"7\" fill=\"%s\" stroke=\"%s\" "
		"stroke-width=\"1.5\"/>\n", x, y, width, height, p->fill, p->edge);
}

/** struct type - the look of a text; @anchor: "start" or "middle" */
struct type {
	int size;
	const char *weight;
	const char *anchor;
	const char *colour;
};

/* Number of letters that fit. The viewer's font is unknown; the average letter is at most 0.62 em wide. */
static size_t fitting(const struct type *type, int width)
{
	return (size_t)(width * 100 / (type->size * 62));
}

/* Writes @text, cut to @width pixels; 0: not cut. */
static void put_text(FILE *f, int x, int y, int width, const struct type *type, const char *text)
{
	char cut[128];
	size_t n;

	snprintf(cut, sizeof(cut), "%s", text);
	n = fitting(type, width);
	if (width && strlen(cut) > n && n > 2)
		strcpy(&cut[n - 2], "..");
	fprintf(f, "<text x=\"%d\" y=\"%d\" font-size=\"%d\" font-weight=\"%s\" text-anchor=\"%s\" fill=\"%s\">", x, y,
		type->size, type->weight, type->anchor, type->colour);
	put_markup(f, cut);
	fputs("</text>\n", f);
}

static void put_line(FILE *f, int x1, int y1, int x2, int y2, int width, const char *colour, bool dashed)
{
	fprintf(f, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"%d\"%s/>\n", x1, y1, x2,
		y2, colour, width, dashed ? " stroke-dasharray=\"9 5\"" : "");
}

/* ---- links ---------------------------------------------------------------------- */

/* Width of a link's line: each doubling of the rate adds two pixels. */
static int line_width(uint64_t mbps)
{
	int width = 2;

	for (; mbps >= 2000 && width < 12; mbps /= 2)
		width += 2;
	return width;
}

static int device_of(const struct topo *t, const struct box *b)
{
	return b->kind == BOX_DEVICE ? t->devices[b->index].device : b->index;
}

static void put_link_text(FILE *f, int x, int y, const struct link *link)
{
	struct type type = { 11, "normal", "start", grey };
	char text[32];

	snprintf(text, sizeof(text), "x%u", link->width);
	put_text(f, x, y, 0, &type, text);
	put_text(f, x, y + 13, 0, &type, words_of_speed(link->speed_mts).at);
}

/* Writes "GT/s" on a line of its own: "8 of 32 GT/s" is too long for one line. */
static void put_degraded_text(FILE *f, int x, int y, const struct link *link)
{
	struct type type = { 11, "bold", "start", alarm };
	char text[32];

	snprintf(text, sizeof(text), "x%u of x%u", link->width, link->max_width);
	put_text(f, x, y, 0, &type, text);
	if (link->speed_mts == link->max_speed_mts) {
		put_text(f, x, y + 13, 0, &type, words_of_speed(link->speed_mts).at);
		return;
	}
	snprintf(text, sizeof(text), "%g of %g", link->speed_mts / 1000.0, link->max_speed_mts / 1000.0);
	put_text(f, x, y + 13, 0, &type, text);
	put_text(f, x, y + 26, 0, &type, "GT/s");
}

static void put_link(const struct topo *t, const struct layout *l, const struct box *b, FILE *f)
{
	const struct box *above = &l->boxes[b->above];
	struct link link = path_link(&t->machine, device_of(t, b));
	int x = b->x + b->width / 2, top = above->y + above->height;
	int width = line_width(link_mbps(link.speed_mts, link.width));
	bool degraded = link_is_degraded(&link);

	put_line(f, x, top, x, b->y, width, degraded ? alarm : "#7b8794", degraded);
	x += width / 2 + 5;
	if (degraded)
		put_degraded_text(f, x, b->y - LINK_TEXT, &link);
	else if (link.width)
		put_link_text(f, x, b->y - LINK_TEXT, &link);
}

/* ---- boxes ---------------------------------------------------------------------- */

/** struct reach - the GPUs that are nearest to a device: their path class, number, and the label of the first GPU */
struct reach {
	enum path_class class;
	size_t count;
	const char *first;
};

static struct reach reach_of(const struct topo *t, const struct topo_device *d)
{
	struct reach r = { PATH_SELF, 0, NULL };
	struct path p;
	size_t i;

	for (i = 0; i < t->nr_gpus; i++) {
		path_find(&t->machine, t->devices[i].device, d->device, &p);
		if (r.count && p.class > r.class)
			continue;
		if (!r.count || p.class < r.class)
			r = (struct reach) { p.class, 0, t->devices[i].label };
		r.count++;
	}
	return r;
}

static void put_reach(FILE *f, const struct box *b, const struct reach *r)
{
	struct type type = { 11, "bold", "middle", class_paints[r->class].edge };
	char text[RDMA_NAME_SIZE + 16];

	if (!r->count)
		return;
	if (r->count == 1)
		snprintf(text, sizeof(text), "%s to %s", path_class_name(r->class), r->first);
	else
		snprintf(text, sizeof(text), "%s to %zu GPUs", path_class_name(r->class), r->count);
	put_text(f, b->x + b->width / 2, b->y + 90, b->width - TEXT_PAD, &type, text);
}

/* Writes the model; a long model in two lines, divided at a blank if possible. */
static void put_model(FILE *f, const struct box *b, const struct type *type, const char *model)
{
	int middle = b->x + b->width / 2, width = b->width - TEXT_PAD;
	size_t n = strlen(model), fit = fitting(type, width);
	char line[128];

	if (n > fit) {
		for (n = fit; n && model[n] != ' '; n--)
			;
		n = n ? n : fit;
	}
	snprintf(line, sizeof(line), "%.*s", (int)n, model);
	put_text(f, middle, b->y + 41, width, type, line);
	model += n;
	put_text(f, middle, b->y + 55, width, type, *model == ' ' ? model + 1 : model);
}

/* The PCI address without domain 0000, which is the only domain of most machines. */
static const char *short_address(const struct device *d)
{
	return strncmp(d->name, "0000:", 5) ? d->name : d->name + 5;
}

static void put_device(const struct topo *t, const struct box *b, FILE *f)
{
	const struct topo_device *entry = &t->devices[b->index];
	const struct device *d = &t->machine.at[entry->device];
	bool is_gpu = (size_t)b->index < t->nr_gpus;
	struct reach reach = { 0 };
	struct type head = { 15, "bold", "middle", is_gpu ? white : dark };
	struct type small = { 11, "normal", "middle", is_gpu ? white : dark };
	int middle = b->x + b->width / 2, width = b->width - TEXT_PAD;

	if (!is_gpu)
		reach = reach_of(t, entry);
	put_rect(f, b->x, b->y, b->width, b->height, is_gpu ? &gpu_paint : &class_paints[reach.class]);
	if (strlen(entry->label) > fitting(&head, width))
		head.size = 12;
	put_text(f, middle, b->y + 23, width, &head, entry->label);
	put_model(f, b, &small, entry->model[0] ? entry->model : pci_model(d).at);
	put_text(f, middle, b->y + 72, width, &small, short_address(d));
	if (!is_gpu)
		put_reach(f, b, &reach);
}

static void put_bar(FILE *f, const struct box *b, const char *what, const char *which)
{
	struct type head = { 13, "bold", "middle", dark };
	struct type small = { 11, "normal", "middle", grey };
	int middle = b->x + b->width / 2, width = b->width - TEXT_PAD;

	put_rect(f, b->x, b->y, b->width, b->height, &plain_paint);
	put_text(f, middle, b->y + 18, width, &head, what);
	put_text(f, middle, b->y + 34, width, &small, which);
}

static void put_switch(const struct topo *t, const struct box *b, FILE *f)
{
	const struct device *d = &t->machine.at[b->index];
	char which[192];

	snprintf(which, sizeof(which), "%s  %s", short_address(d), pci_model(d).at);
	put_bar(f, b, d->port == PORT_UPSTREAM ? "PCIe switch" : "bridge to PCI", which);
}

static void put_box(const struct topo *t, const struct box *b, FILE *f)
{
	if (b->kind == BOX_ROOT)
		put_bar(f, b, "host bridge", t->roots[b->index].name);
	else if (b->kind == BOX_SWITCH)
		put_switch(t, b, f);
	else
		put_device(t, b, f);
}

/* ---- NUMA nodes ----------------------------------------------------------------- */

static void put_socket(const struct topo *t, const struct socket *s, FILE *f)
{
	static const struct paint paint = { "#fbfcfd", "#9aa5b1" };
	struct type type = { 14, "bold", "start", dark };

	put_rect(f, s->x, s->y, s->width, s->height, &paint);
	put_text(f, s->x + 18, s->y + 26, s->width - 2 * TEXT_PAD, &type, words_of_node(&t->machine, s->node).at);
}

static const char *name_between(const struct machine *m, const struct socket *a, const struct socket *b)
{
	const struct numa_node *x = machine_node(m, a->node), *y = machine_node(m, b->node);

	return x && y && x->package == y->package && x->package >= 0 ? "NUMA nodes" : "processors";
}

static void put_beside(const struct topo *t, const struct socket *a, const struct socket *b, FILE *f)
{
	struct type type = { 12, "normal", "middle", grey };
	int left = a->x + a->width, y = a->y + a->height / 3, middle = (left + b->x) / 2;

	put_line(f, left, y, b->x, y, 12, "#9aa5b1", false);
	put_text(f, middle, y - 30, 0, &type, "link between");
	put_text(f, middle, y - 15, 0, &type, name_between(&t->machine, a, b));
}

static void put_beneath(const struct topo *t, const struct socket *a, const struct socket *b, FILE *f)
{
	struct type type = { 12, "normal", "start", grey };
	int top = a->y + a->height, x = a->x + (a->width < b->width ? a->width : b->width) / 2;
	char text[64];

	put_line(f, x, top, x, b->y, 12, "#9aa5b1", false);
	snprintf(text, sizeof(text), "link between %s", name_between(&t->machine, a, b));
	put_text(f, x + 16, (top + b->y) / 2 + 4, 0, &type, text);
}

/* Connects neighbours within a line, and the first socket of each line with the first socket of the next line. */
static void put_between_all(const struct topo *t, const struct layout *l, FILE *f)
{
	const struct socket *first = l->sockets, *s;
	size_t i;

	for (i = 1; i < l->nr_sockets; i++) {
		s = &l->sockets[i];
		if (s->y == s[-1].y) {
			put_beside(t, s - 1, s, f);
		} else {
			put_beneath(t, first, s, f);
			first = s;
		}
	}
}

/* ---- title and legend ----------------------------------------------------------- */

static void put_title(const struct topo *t, FILE *f)
{
	struct type head = { 26, "bold", "start", dark };
	struct type small = { 14, "normal", "start", grey };
	char text[128];

	put_text(f, 30, 38, 0, &head, t->product[0] ? t->product : "PCIe topology");
	snprintf(text, sizeof(text), "%zu GPU%s and %zu other PCIe device%s that can be a peer%s", t->nr_gpus,
		 t->nr_gpus == 1 ? "" : "s", t->count - t->nr_gpus, t->count - t->nr_gpus == 1 ? "" : "s",
		 topo_is_hidden(t) ? "; a virtual machine, which hides the real bridges" : "");
	put_text(f, 30, 60, 0, &small, text);
}

static void put_swatch(FILE *f, int x, int y, enum path_class class)
{
	struct type head = { 12, "bold", "start", class_paints[class].edge };
	struct type small = { 12, "normal", "start", grey };

	put_rect(f, x, y - 13, 18, 18, &class_paints[class]);
	put_text(f, x + 26, y, 0, &head, path_class_name(class));
	put_text(f, x + 72, y, 0, &small, path_class_text(class));
}

static void put_lines_legend(FILE *f, int x, int y)
{
	struct type small = { 12, "normal", "start", grey };

	put_line(f, x, y - 4, x + 30, y - 4, 2, "#7b8794", false);
	put_line(f, x + 34, y - 4, x + 64, y - 4, 8, "#7b8794", false);
	put_text(f, x + 74, y, 0, &small, "the wider, the faster the link");
	put_line(f, x, y + 20, x + 64, y + 20, 4, alarm, true);
	put_text(f, x + 74, y + 24, 0, &small, "slower than it could be");
}

static void put_legend(const struct layout *l, FILE *f)
{
	int y = l->height - 62;

	put_swatch(f, 30, y, PATH_PIX);
	put_swatch(f, 30, y + 24, PATH_PXB);
	put_swatch(f, 370, y, PATH_PHB);
	put_swatch(f, 370, y + 24, PATH_NODE);
	put_swatch(f, 370, y + 48, PATH_SYS);
	put_lines_legend(f, 740, y);
}

static void put_picture(const struct topo *t, const struct layout *l, FILE *f)
{
	size_t i;

	put_between_all(t, l, f);
	for (i = 0; i < l->nr_sockets; i++)
		put_socket(t, &l->sockets[i], f);
	for (i = 0; i < l->nr_boxes; i++)
		if (l->boxes[i].above >= 0)
			put_link(t, l, &l->boxes[i], f);
	for (i = 0; i < l->nr_boxes; i++)
		put_box(t, &l->boxes[i], f);
}

void topo_svg(const struct topo *t, FILE *f)
{
	struct layout layout;

	layout_find(t, &layout);
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
		"font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\">\n", layout.width, layout.height,
		layout.width, layout.height);
	fprintf(f, "<rect width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", layout.width, layout.height, white);
	put_title(t, f);
	put_picture(t, &layout, f);
	put_legend(&layout, f);
	fputs("</svg>\n", f);
	layout_free(&layout);
}
