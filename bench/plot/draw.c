// SPDX-License-Identifier: MIT
/*
 * gnuplot was tried: its SVG has no colours for dark mode, and a legend instead of names at the ends of the lines, which
 * must be moved apart here anyway.
 */
#include <stdlib.h>
#include <string.h>
#include "tool/util/markup.h"
#include "draw.h"
#include "label.h"
#include "scale.h"

enum {
	WIDTH = 760,
	HEIGHT = 400,
	LEFT = 76,
	RIGHT = 540,		/* right end of the axis; names of series are beyond it */
	TOP = 56,
	BOTTOM = 316,
	NAME_GAP = 17,		/* distance between base lines of names */
	MARK = 4,
};

/* Colours of light mode, then of dark mode. A viewer without dark mode uses the first part. */
static const char style[] =
	"<style>\n"
	"text { font: 13px sans-serif; fill: #1f2933 }\n"
	".title { font-size: 16px; font-weight: bold }\n"
	".small { font-size: 11px }\n"
	".paper { fill: #ffffff }\n"
	".grid { stroke: #d9dee3 }\n"
	".axis { stroke: #5c6773 }\n"
	".line { fill: none; stroke: currentColor; stroke-width: 2 }\n"
	".s0 .line { stroke-width: 3 }\n"
	".mark { fill: currentColor }\n"
	".name { fill: currentColor }\n"
	".s0 .name { font-weight: bold }\n"
	".s0 { color: #1d4f91 } .s1 { color: #b45309 } .s2 { color: #1b7f43 }\n"
	".s3 { color: #8b2fa0 } .s4 { color: #b42318 } .s5 { color: #5c6773 }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"text { fill: #e6edf3 }\n"
	".paper { fill: #0d1117 }\n"
	".grid { stroke: #2b333c }\n"
	".axis { stroke: #9aa5b1 }\n"
	".name { fill: currentColor }\n"
	".s0 { color: #79b0ff } .s1 { color: #ffb45e } .s2 { color: #5fd38b }\n"
	".s3 { color: #dba2f2 } .s4 { color: #ff8e80 } .s5 { color: #aab4be }\n"
	"}\n"
	"</style>\n";

/* ---- elements ------------------------------------------------------------------- */

static void put_text(FILE *f, const char *class, double x, double y, const char *anchor, const char *text)
{
	fprintf(f, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", class, x, y, anchor);
	put_markup(f, text);
	fputs("</text>\n", f);
}

static void put_line(FILE *f, const char *class, double x1, double y1, double x2, double y2)
{
	fprintf(f, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2);
}

static void put_circle(FILE *f, double x, double y)
{
	fprintf(f, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>\n", x, y, MARK);
}

static void put_square(FILE *f, double x, double y)
{
	fprintf(f, "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>\n", x - MARK, y - MARK,
		2 * MARK, 2 * MARK);
}

static void put_diamond(FILE *f, double x, double y)
{
	fprintf(f, "<path class=\"mark\" d=\"M%.1f %.1fl5 5l-5 5l-5 -5z\"/>\n", x, y - 5);
}

static void put_triangle(FILE *f, double x, double y)
{
	fprintf(f, "<path class=\"mark\" d=\"M%.1f %.1fl5 9h-10z\"/>\n", x, y - 5);
}

/* Marks of the series, for readers that cannot tell the colours apart */
static void (*const marks[])(FILE *f, double x, double y) = { put_circle, put_square, put_triangle, put_diamond };

/* ---- axes ----------------------------------------------------------------------- */

static void stretch(double *low, double *high, const double *figures, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		*low = *low && *low < figures[i] ? *low : figures[i];
		*high = *high > figures[i] ? *high : figures[i];
	}
}

static struct scale scale_x(const struct plot *p)
{
	double low = 0, high = 0;
	struct scale s;

	for (unsigned int i = 0; i < p->count; i++)
		stretch(&low, &high, p->series[i].x, p->series[i].count);
	s = scale_powers(low, high, strcmp(p->unit, "bytes") ? 10 : 4);
	s.from = LEFT;
	s.to = RIGHT;
	return s;
}

static struct scale scale_y(const struct plot *p)
{
	double low = 0, high = 0;
	struct scale s;

	for (unsigned int i = 0; i < p->count; i++)
		stretch(&low, &high, p->series[i].y, p->series[i].count);
	s = scale_round(low, high);
	s.from = BOTTOM;
	s.to = TOP;
	return s;
}

static void draw_x(FILE *f, const struct scale *s, const struct plot *p)
{
	char text[LABEL_MAX];
	double x;

	for (unsigned int i = 0; i < s->ticks; i++) {
		x = scale_place(s, s->tick[i]);
		put_line(f, "grid", x, TOP, x, BOTTOM);
		(strcmp(p->unit, "bytes") ? label_count : label_bytes)(text, s->tick[i]);
		put_text(f, "small", x, BOTTOM + 18, "middle", text);
	}
	put_line(f, "axis", LEFT, BOTTOM, RIGHT, BOTTOM);
	put_text(f, "what", (LEFT + RIGHT) / 2, BOTTOM + 40, "middle", p->x);
}

static void draw_y(FILE *f, const struct scale *s)
{
	char text[LABEL_MAX];
	double y;

	for (unsigned int i = 0; i < s->ticks; i++) {
		y = scale_place(s, s->tick[i]);
		put_line(f, "grid", LEFT, y, RIGHT, y);
		label_ns(text, s->tick[i]);
		put_text(f, "small", LEFT - 8, y + 4, "end", text);
	}
	put_line(f, "axis", LEFT, TOP, LEFT, BOTTOM);
	put_text(f, "small", LEFT, TOP - 10, "middle", s->is_log ? "time (log)" : "time");
}

/* ---- series --------------------------------------------------------------------- */

static void draw_series(FILE *f, const struct series *s, unsigned int index, const struct scale *x,
			const struct scale *y)
{
	unsigned int i;

	fprintf(f, "<g class=\"s%u\">\n<polyline class=\"line\" points=\"", index);
	for (i = 0; i < s->count; i++)
		fprintf(f, "%.1f,%.1f ", scale_place(x, s->x[i]), scale_place(y, s->y[i]));
	fputs("\"/>\n", f);
	for (i = 0; i < s->count; i++)
		marks[index % 4](f, scale_place(x, s->x[i]), scale_place(y, s->y[i]));
	fputs("</g>\n", f);
}

/** struct name - name of a series, at the height of its last point if there is space */
struct name {
	unsigned int series;
	double end;
	double y;
};

static int higher(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return (x->y > y->y) - (x->y < y->y);
}

/* Move overlapping names apart: downwards from the highest name, then upwards from the axis. */
static void part(struct name *names, unsigned int count)
{
	double most = BOTTOM;
	unsigned int i;

	qsort(names, count, sizeof(*names), higher);
	for (i = 1; i < count; i++)
		if (names[i].y < names[i - 1].y + NAME_GAP)
			names[i].y = names[i - 1].y + NAME_GAP;
	for (i = count; i--; most = names[i].y - NAME_GAP)
		if (names[i].y > most)
			names[i].y = most;
}

static void draw_names(FILE *f, const struct plot *p, const struct scale *x, const struct scale *y)
{
	struct name names[SERIES_MAX];
	unsigned int i;

	for (i = 0; i < p->count; i++) {
		names[i].series = i;
		names[i].y = names[i].end = scale_place(y, p->series[i].y[p->series[i].count - 1]);
	}
	part(names, p->count);
	for (i = 0; i < p->count; i++) {
		const struct series *s = &p->series[names[i].series];

		fprintf(f, "<g class=\"s%u\">\n", names[i].series);
		put_line(f, "line", scale_place(x, s->x[s->count - 1]) + 6, names[i].end, RIGHT + 22, names[i].y);
		put_text(f, "name", RIGHT + 26, names[i].y + 4, "start", s->name);
		fputs("</g>\n", f);
	}
}

void draw(const struct plot *p, FILE *out)
{
	struct scale x = scale_x(p), y = scale_y(p);

	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n"
		"<!-- SPDX-License-Identifier: MIT -->\n<title>", WIDTH, HEIGHT);
	put_markup(out, p->title);
	fprintf(out, "</title>\n%s<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", style, WIDTH, HEIGHT);
	put_text(out, "title", 16, 24, "start", p->title);
	draw_x(out, &x, p);
	draw_y(out, &y);
	for (unsigned int i = p->count; i--;)
		draw_series(out, &p->series[i], i, &x, &y);
	draw_names(out, p, &x, &y);
	put_text(out, "small", 16, HEIGHT - 12, "start", p->place);
	fputs("</svg>\n", out);
}
