// SPDX-License-Identifier: MIT
/* The topology as text: tree, matrices and degraded links. */
#include <string.h>
#include "tool/machine/path.h"
#include "tool/machine/pci_name.h"
#include "tool/util/colour.h"
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
	enum text_colour colour;
};

static int column_width(const struct topo *t)
{
	size_t width = LEAST_COLUMN, i;

	for (i = 0; i < t->count; i++)
		if (strlen(t->devices[i].label) + 2 > width)
			width = strlen(t->devices[i].label) + 2;
	return (int)width;
}

static struct cell class_cell(const struct topo *t, size_t row, size_t column, const struct path *p)
{
	static const enum text_colour colours[] = {
		[PATH_SELF] = COLOUR_DIM,   [PATH_PIX] = COLOUR_GREEN,	 [PATH_PXB] = COLOUR_GREEN,
		[PATH_PHB] = COLOUR_YELLOW, [PATH_NODE] = COLOUR_YELLOW, [PATH_SYS] = COLOUR_RED,
	};
	int links = topo_nvlinks(t, row, column);
	struct cell cell = { .colour = links > 0 ? COLOUR_GREEN : colours[p->class] };

	if (links > 0)
		snprintf(cell.at, sizeof(cell.at), "NV%d", links);
	else
		snprintf(cell.at, sizeof(cell.at), "%s", path_class_name(p->class));
	return cell;
}

static struct cell rate_cell(const struct topo *t, size_t row, size_t column, const struct path *p)
{
	struct cell cell = { "-", COLOUR_NONE };

	(void)t;
	(void)row;
	(void)column;
	if (p->mbps)
		snprintf(cell.at, sizeof(cell.at), "%.1f", (double)p->mbps / 1000);
	return cell;
}

/**
 * struct columns - the columns @from to @to - 1 of a matrix, which fit in one line
 * @affinity: width of the column of CPUs, after the last column; 0: none
 */
struct columns {
	size_t from;
	size_t to;
	int width;
	int affinity;
	struct cell (*cell)(const struct topo *t, size_t row, size_t column, const struct path *p);
};

static const char *cpus_of(const struct topo *t, size_t gpu)
{
	const struct numa_node *node = machine_node(&t->machine, topo_node(t, t->devices[gpu].device));

	return node && *node->cpus ? node->cpus : "N/A";
}

static int affinity_width(const struct topo *t)
{
	size_t width = strlen("CPU Affinity"), i;

	for (i = 0; i < t->nr_gpus; i++)
		if (strlen(cpus_of(t, i)) > width)
			width = strlen(cpus_of(t, i));
	return (int)width;
}

static void print_affinity(const struct topo *t, size_t gpu, const struct columns *c, FILE *f)
{
	int node = topo_node(t, t->devices[gpu].device);

	fprintf(f, "    %-*s    ", c->affinity, cpus_of(t, gpu));
	if (node == NO_NODE)
		fputs("N/A", f);
	else
		fprintf(f, "%d", node);
}

static void print_row(const struct topo *t, size_t row, const struct columns *c, FILE *f)
{
	struct cell cell;
	struct path p;
	size_t i;

	fprintf(f, "%-*s", ROW_LABEL, t->devices[row].label);
	for (i = c->from; i < c->to; i++) {
		path_find(&t->machine, t->devices[row].device, t->devices[i].device, &p);
		cell = c->cell(t, row, i, &p);
		fprintf(f, "%*s%s%s%s", c->width - (int)strlen(cell.at), "", colour_on(f, cell.colour), cell.at,
			colour_off(f, cell.colour));
	}
	if (c->affinity && c->to == t->count)
		print_affinity(t, row, c, f);
	putc('\n', f);
}

static void print_columns(const struct topo *t, const struct columns *c, FILE *f)
{
	size_t i;

	fprintf(f, "%*s", ROW_LABEL, "");
	for (i = c->from; i < c->to; i++)
		fprintf(f, "%*s", c->width, t->devices[i].label);
	if (c->affinity && c->to == t->count)
		fprintf(f, "    %-*s    NUMA Affinity", c->affinity, "CPU Affinity");
	putc('\n', f);
	for (i = 0; i < t->nr_gpus; i++)
		print_row(t, i, c, f);
}

static void print_matrix(const struct topo *t, struct columns c, FILE *f)
{
	size_t fit;

	c.width = column_width(t);
	fit = (size_t)((MOST_LINE - ROW_LABEL) / c.width);
	for (; c.from < t->count; c.from = c.to) {
		c.to = c.from + fit < t->count ? c.from + fit : t->count;
		print_columns(t, &c, f);
	}
}

static void print_legend(const struct topo *t, FILE *f)
{
	enum path_class class;

	fputs("\nClasses of PCIe paths (guide 11.4: first two best, next two slower, the last may not work)\n", f);
	for (class = PATH_PIX; class <= PATH_SYS; class ++)
		fprintf(f, "  %-4s  %s\n", path_class_name(class), path_class_text(class));
	if (t->nr_gpus > 1)
		fputs("  NV#   # NVLinks between two GPUs, instead of the class of their PCIe path\n", f);
	if (topo_nvlinks(t, 0, 1) < 0)
		fprintf(f, "NVLinks are not known: %s\n",
			*t->facts->nvml_error ? t->facts->nvml_error : "the capture has no answer of NVML");
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
	fputs("\nPaths\n", f);
	print_matrix(t, (struct columns){ .cell = class_cell, .affinity = affinity_width(t) }, f);
	print_legend(t, f);
	if (!knows_a_link(t))
		return;
	fputs("\nThe slowest link of each PCIe path, GB/s in each direction\n", f);
	print_matrix(t, (struct columns){ .cell = rate_cell }, f);
}

/* ---- degraded links ------------------------------------------------------------- */

static void print_degraded(const struct topo *t, int i, FILE *f)
{
	const struct device *d = &t->machine.at[i];
	const char *label = topo_label(t, i);
	struct link link = path_link(&t->machine, i);
	bool may_sleep = d->kind == DEVICE_GPU && link.speed_mts < link.max_speed_mts;

	fprintf(f, "  %s  %s  %s%s%s%s\n", d->name, label ? label : words_of_port(d->port), colour_on(f, COLOUR_YELLOW),
		words_of_link(&t->machine, i).at, colour_off(f, COLOUR_YELLOW),
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
