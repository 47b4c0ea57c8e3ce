// SPDX-License-Identifier: MIT
/* The topology as text: tree, matrices and degraded links. */
#include <string.h>
#include "tool/machine/path.h"
#include "tool/machine/pci_name.h"
#include "topo.h"
#include "words.h"

/* ---- the tree ------------------------------------------------------------------- */

static void print_device(const struct topo *t, int i, int depth, FILE *f)
{
	const struct device *d = &t->machine.at[i];
	const struct topo_device *shown = topo_find(t, i);
	struct topo_words link = words_of_link(&t->machine, i);

	fprintf(f, "%*s%-12s  ", 2 * depth, "", d->name);
	fprintf(f, "%-9s  %s", shown ? shown->label : words_of_port(d->port),
		shown && shown->model[0] ? shown->model : pci_name(d).at);
	if (d->driver[0] && shown)
		fprintf(f, "  driver %s", d->driver);
	if (link.at[0])
		fprintf(f, "  %s", link.at);
	putc('\n', f);
}

static void print_below(const struct topo *t, const char *root, int parent, int depth, FILE *f)
{
	size_t i;

	for (i = 0; i < t->machine.count; i++) {
		const struct device *d = &t->machine.at[i];

		if (!t->is_shown[i] || d->parent != parent || strcmp(d->root_bus, root))
			continue;
		print_device(t, (int)i, depth, f);
		if (d->kind == DEVICE_BRIDGE)
			print_below(t, root, (int)i, depth + 1, f);
	}
}

static void print_tree(const struct topo *t, FILE *f)
{
	size_t i;

	for (i = 0; i < t->nr_roots; i++) {
		const struct topo_root *root = &t->roots[i];

		if (!i || root->node != root[-1].node)
			fprintf(f, "%s\n", words_of_node(&t->machine, root->node).at);
		fprintf(f, "  root bus %s\n", root->name);
		print_below(t, root->name, NO_PARENT, 2, f);
	}
}

/* ---- matrices ------------------------------------------------------------------- */

enum {
	ROW_LABEL = 8,
	LEAST_COLUMN = 10,
	MOST_LINE = 120,
};

/** struct cell - text of a matrix cell, returned by value */
struct cell {
	char at[16];
};

static int column_width(const struct topo *t)
{
	size_t width = LEAST_COLUMN, i;

	for (i = 0; i < t->count; i++)
		if (strlen(t->devices[i].label) + 2 > width)
			width = strlen(t->devices[i].label) + 2;
	return (int)width;
}

static struct cell class_cell(const struct path *p)
{
	struct cell cell;

	snprintf(cell.at, sizeof(cell.at), "%s", path_class_name(p->class));
	return cell;
}

static struct cell rate_cell(const struct path *p)
{
	struct cell cell = { "-" };

	if (p->mbps)
		snprintf(cell.at, sizeof(cell.at), "%.1f", (double)p->mbps / 1000);
	return cell;
}

/** struct columns - the columns @from to @to - 1 of a matrix, which fit in one line */
struct columns {
	size_t from;
	size_t to;
	int width;
	struct cell (*cell)(const struct path *p);
};

static void print_row(const struct topo *t, size_t row, const struct columns *c, FILE *f)
{
	struct path p;
	size_t i;

	fprintf(f, "%-*s", ROW_LABEL, t->devices[row].label);
	for (i = c->from; i < c->to; i++) {
		path_find(&t->machine, t->devices[row].device, t->devices[i].device, &p);
		fprintf(f, "%*s", c->width, c->cell(&p).at);
	}
	putc('\n', f);
}

static void print_columns(const struct topo *t, const struct columns *c, FILE *f)
{
	size_t i;

	fprintf(f, "%*s", ROW_LABEL, "");
	for (i = c->from; i < c->to; i++)
		fprintf(f, "%*s", c->width, t->devices[i].label);
	putc('\n', f);
	for (i = 0; i < t->nr_gpus; i++)
		print_row(t, i, c, f);
}

static void print_matrix(const struct topo *t, struct cell (*cell)(const struct path *p), FILE *f)
{
	struct columns c = { .width = column_width(t), .cell = cell };
	size_t fit = (size_t)((MOST_LINE - ROW_LABEL) / c.width);

	for (; c.from < t->count; c.from = c.to) {
		c.to = c.from + fit < t->count ? c.from + fit : t->count;
		print_columns(t, &c, f);
	}
}

static void print_legend(FILE *f)
{
	enum path_class class;

	fputs("\nClasses of paths (guide 11.4: first two best, next two slower, the last may not work)\n", f);
	for (class = PATH_PIX; class <= PATH_SYS; class++)
		fprintf(f, "  %-4s  %s\n", path_class_name(class), path_class_text(class));
}

static bool knows_a_link(const struct topo *t)
{
	size_t i;

	for (i = 0; i < t->machine.count; i++)
		if (t->is_shown[i] && path_link(&t->machine, (int)i).width)
			return true;
	return false;
}

static void print_matrices(const struct topo *t, FILE *f)
{
	fputs("\nPaths over PCIe (NVLink is not considered)\n", f);
	print_matrix(t, class_cell, f);
	print_legend(f);
	if (!knows_a_link(t))
		return;
	fputs("\nThe slowest link of each path, GB/s in each direction\n", f);
	print_matrix(t, rate_cell, f);
}

/* ---- degraded links ------------------------------------------------------------- */

static void print_degraded(const struct topo *t, int i, FILE *f)
{
	const struct device *d = &t->machine.at[i];
	const char *label = topo_label(t, i);
	struct link link = path_link(&t->machine, i);
	bool may_sleep = d->kind == DEVICE_GPU && link.speed_mts < link.max_speed_mts;

	fprintf(f, "  %s  %s  %s%s\n", d->name, label ? label : words_of_port(d->port),
		words_of_link(&t->machine, i).at,
		may_sleep ? "; an idle GPU slows its link, so look again while it works" : "");
}

static void print_all_degraded(const struct topo *t, FILE *f)
{
	bool first = true;
	struct link link;
	size_t i;

	for (i = 0; i < t->machine.count; i++) {
		link = path_link(&t->machine, (int)i);
		if (!t->is_shown[i] || !link_is_degraded(&link))
			continue;
		if (first)
			fputs("\nLinks that are slower than they could be\n", f);
		first = false;
		print_degraded(t, (int)i, f);
	}
}

void topo_text(const struct topo *t, FILE *f)
{
	if (!t->count)
		fputs("There is no GPU here, nor a device that could be its peer.\n", f);
	print_tree(t, f);
	if (topo_is_hidden(t))
		fputs("\nThis is a virtual machine: the real bridges can only be seen on its host.\n", f);
	if (t->count && !t->nr_gpus)
		fputs("\nThere is no GPU here.\n", f);
	if (t->nr_gpus)
		print_matrices(t, f);
	print_all_degraded(t, f);
	if (t->nr_virtual)
		fprintf(f, "\n%zu virtual functions are not shown.\n", t->nr_virtual);
}
