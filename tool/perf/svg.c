// SPDX-License-Identifier: MIT
/*
 * A chart for each group of rows: the size on the x axis, GB/s or time on the y axis, both logarithmic. A style sheet
 * has the colours, for a light and for a dark background.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "report.h"
#include "tool/tool.h"
#include "tool/util/markup.h"

enum {
	WIDTH = 960,
	PLOT_LEFT = 70,
	PLOT_WIDTH = 550,
	PLOT_HEIGHT = 260,
	CHART_HEIGHT = 340,
	LEGEND_LEFT = 640,
	LEGEND_LINE = 19,
	TOP = 34,
	COLOURS = 8,
	MAX_CHARTS = 16,
	HEAD_LINE = 18,
	HEAD_CHARS = 115,	/* of a line of the head */
};

static const char style[] =
	"text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2933 }\n"
	".title { font-size: 16px; font-weight: 600 }\n"
	".small { font-size: 11px; fill: #52606d }\n"
	".back { fill: #ffffff }\n.grid { stroke: #d5dbe1; stroke-width: 1 }\n"
	".line { fill: none; stroke-width: 2 }\n.dashed { stroke-dasharray: 7 4 }\n"
	".c0 { stroke: #1d4ed8 } .c1 { stroke: #b45309 } .c2 { stroke: #15803d } .c3 { stroke: #b91c1c }\n"
	".c4 { stroke: #7e22ce } .c5 { stroke: #0e7490 } .c6 { stroke: #857c00 } .c7 { stroke: #4d5562 }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"text { fill: #e4e7eb } .small { fill: #9aa5b1 } .back { fill: #14181d } .grid { stroke: #38424d }\n"
	".c0 { stroke: #7ea6ff } .c1 { stroke: #f2b25c } .c2 { stroke: #66d18f } .c3 { stroke: #ff8a80 }\n"
	".c4 { stroke: #cf9bff } .c5 { stroke: #5fd0e6 } .c6 { stroke: #e8e84a } .c7 { stroke: #b6bfc9 }\n}\n";

/** struct chart - the rows of one group with one unit; @low, @high: powers of ten around all values */
struct chart {
	const char *group;
	bool rate;
	double size_low, size_high, low, high;
};

static double value_of(const struct perf_row *row, const struct perf_point *p)
{
	return row->rate ? perf_rate(p) : p->median;
}

static bool is_in(const struct chart *c, const struct perf_row *row)
{
	return row->nr_points && row->rate == c->rate && !strcmp(row->group, c->group);
}

/* ---- scales -------------------------------------------------------------------------------- */

static void include(struct chart *c, const struct perf_row *row, const struct perf_point *p, bool first)
{
	double size = log2((double)p->bytes), value = log10(value_of(row, p));

	if (first || size < c->size_low)
		c->size_low = size;
	if (first || size > c->size_high)
		c->size_high = size;
	if (first || value < c->low)
		c->low = value;
	if (first || value > c->high)
		c->high = value;
}

static void set_scale(const struct perf_result *r, struct chart *c)
{
	bool first = true;
	size_t i, k;

	for (i = 0; i < r->nr_rows; i++)
		for (k = 0; is_in(c, &r->rows[i]) && k < r->rows[i].nr_points; k++, first = false)
			include(c, &r->rows[i], &r->rows[i].points[k], first);
	c->low = floor(c->low);
	c->high = ceil(c->high);
	if (c->high <= c->low)
		c->high = c->low + 1;
	if (c->size_high <= c->size_low)
		c->size_high = c->size_low + 1;
}

static double x_of(const struct chart *c, double size)
{
	return PLOT_LEFT + (log2(size) - c->size_low) / (c->size_high - c->size_low) * PLOT_WIDTH;
}

static double y_of(const struct chart *c, double value)
{
	return PLOT_HEIGHT - (log10(value) - c->low) / (c->high - c->low) * PLOT_HEIGHT;
}

/* ---- elements -------------------------------------------------------------------------------- */

static void put_text(FILE *f, double x, double y, const char *class, const char *anchor, const char *text)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class, anchor);
	put_markup(f, text);
	fputs("</text>\n", f);
}

/* @value: a power of ten, in GB/s or ns */
static const char *rate_label(double value, char out[24])
{
	static const char *const units[] = { "TB/s", "GB/s", "MB/s", "KB/s", "B/s" };
	unsigned int i = 0;

	for (value /= 1000; value < 0.99 && i < 4; i++)
		value *= 1000;
	snprintf(out, 24, "%g %s", round(value), units[i]);
	return out;
}

static const char *time_label(double value, char out[24])
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	unsigned int i = 0;

	for (; value > 999 && i < 3; i++)
		value /= 1000;
	snprintf(out, 24, "%g %s", round(value), units[i]);
	return out;
}

static void put_grid(FILE *f, const struct chart *c)
{
	char text[24];
	double at;

	for (at = c->low; at <= c->high; at++) {
		double value = pow(10, at), y = y_of(c, value);

		fprintf(f, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", PLOT_LEFT, y,
			PLOT_LEFT + PLOT_WIDTH, y);
		put_text(f, PLOT_LEFT - 6, y + 4, "small", "end",
			 c->rate ? rate_label(value, text) : time_label(value, text));
	}
	for (at = ceil(c->size_low); at <= c->size_high; at += c->size_high - c->size_low > 8 ? 4 : 1) {
		double x = x_of(c, pow(2, at));

		fprintf(f, "<line class=\"grid\" x1=\"%.1f\" y1=\"0\" x2=\"%.1f\" y2=\"%d\"/>\n", x, x, PLOT_HEIGHT);
		put_text(f, x, PLOT_HEIGHT + 16, "small", "middle", perf_size_text((uint64_t)pow(2, at)).at);
	}
}

static void put_series(FILE *f, const struct chart *c, const struct perf_row *row, unsigned int nth)
{
	const char *dashed = nth / COLOURS % 2 ? " dashed" : "";
	double y = nth * LEGEND_LINE + 10;
	size_t i;

	fprintf(f, "<polyline class=\"line c%u%s\" points=\"", nth % COLOURS, dashed);
	for (i = 0; i < row->nr_points; i++)
		fprintf(f, "%.1f,%.1f ", x_of(c, (double)row->points[i].bytes), y_of(c, value_of(row, &row->points[i])));
	fputs("\"/>\n", f);
	for (i = 0; i < row->nr_points; i++)
		fprintf(f, "<circle class=\"line c%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>\n", nth % COLOURS,
			x_of(c, (double)row->points[i].bytes), y_of(c, value_of(row, &row->points[i])));
	fprintf(f, "<line class=\"line c%u%s\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", nth % COLOURS, dashed,
		LEGEND_LEFT, y - 4, LEGEND_LEFT + 24, y - 4);
	put_text(f, LEGEND_LEFT + 30, y, "", "start", row->title);
}

static void put_chart(FILE *f, const struct perf_result *r, const struct chart *c, double y)
{
	unsigned int nth = 0;
	char title[64];
	size_t i;

	snprintf(title, sizeof(title), "%s: %s by bytes", c->group, c->rate ? "GB/s" : "time");
	put_text(f, 16, y + 18, "title", "start", title);
	fprintf(f, "<g transform=\"translate(0 %.0f)\">\n", y + TOP);
	put_grid(f, c);
	for (i = 0; i < r->nr_rows; i++)
		if (is_in(c, &r->rows[i]))
			put_series(f, c, &r->rows[i], nth++);
	fputs("</g>\n", f);
}

/* ---- all -------------------------------------------------------------------------------------- */

static size_t find_charts(const struct perf_result *r, struct chart *charts)
{
	size_t count = 0, i, k;

	for (i = 0; i < r->nr_rows; i++) {
		const struct perf_row *row = &r->rows[i];

		for (k = 0; k < count && !is_in(&charts[k], row); k++)
			;
		if (k < count || !row->nr_points || count == MAX_CHARTS)
			continue;
		charts[count] = (struct chart){ .group = row->group, .rate = row->rate };
		set_scale(r, &charts[count++]);
	}
	return count;
}

/* The number of bytes of @text that fit into a line of the head */
static int line_length(const char *text)
{
	int length = (int)strlen(text), at = HEAD_CHARS;

	if (length <= HEAD_CHARS)
		return length;
	while (at && text[at] != ' ')
		at--;
	return at ? at : HEAD_CHARS;
}

/* Returns the number of lines of the head. Writes them, unless @f is NULL. */
static unsigned int put_head(FILE *f, const struct perf_result *r)
{
	char text[sizeof(r->facts->name) + sizeof(r->facts->value) + 2], line[sizeof(text)];
	unsigned int lines = 0;
	const char *at;
	size_t i;

	for (i = 0; i < r->nr_facts; i++) {
		snprintf(text, sizeof(text), "%s: %s", r->facts[i].name, r->facts[i].value);
		for (at = text; *at; at += line_length(at)) {
			snprintf(line, sizeof(line), "%.*s", line_length(at), at);
			if (f)
				put_text(f, 16, 24 + HEAD_LINE * (double)lines, "", "start", line);
			lines++;
		}
	}
	return lines;
}

static void put_svg(FILE *f, const struct perf_result *r)
{
	struct chart charts[MAX_CHARTS];
	size_t count = find_charts(r, charts), i;
	double y = 30 + HEAD_LINE * (double)put_head(NULL, r);

	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "
		"role=\"img\">\n<title>peerpin perf</title>\n<style>\n%s</style>\n"
		"<rect class=\"back\" width=\"100%%\" height=\"100%%\"/>\n", WIDTH, y + (double)count * CHART_HEIGHT, WIDTH,
		y + (double)count * CHART_HEIGHT, style);
	put_head(f, r);
	for (i = 0; i < count; i++)
		put_chart(f, r, &charts[i], y + (double)i * CHART_HEIGHT);
	fputs("</svg>\n", f);
}

int perf_write_svg(const struct perf_result *r, const char *path)
{
	FILE *f = fopen(path, "we");
	int failed;

	if (f)
		put_svg(f, r);
	failed = f ? ferror(f) : 1;
	if (f && fclose(f))
		failed = 1;
	return failed ? fail("%s cannot be written: %s; give another --svg", path, strerror(errno)) : 0;
}
