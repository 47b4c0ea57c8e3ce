// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <string.h>
#include "report.h"

struct perf_text perf_size_text(uint64_t bytes)
{
	static const char letters[] = " KMGT";
	double value = (double)bytes;
	struct perf_text t;
	unsigned int i = 0;

	for (; value >= 1024 && i < 4; i++)
		value /= 1024;
	snprintf(t.at, sizeof(t.at), i ? "%.4g%c" : "%.4g", value, letters[i]);
	return t;
}

/* Three digits, without an exponent */
static struct perf_text digits(double value)
{
	struct perf_text t;

	snprintf(t.at, sizeof(t.at), "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
	return t;
}

struct perf_text perf_time_text(double ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	struct perf_text t;
	unsigned int i = 0;

	for (; ns >= 999.5 && i < 3; i++)
		ns /= 1000;
	snprintf(t.at, sizeof(t.at), "%.16s%s", digits(ns).at, units[i]);
	return t;
}

static struct perf_text rate_text(double rate)
{
	struct perf_text t;

	if (rate < 0.0005)
		snprintf(t.at, sizeof(t.at), "<.001");
	else if (rate < 0.995)
		snprintf(t.at, sizeof(t.at), "%.3f", rate);
	else
		t = digits(rate);
	return t;
}

/** struct spread - two formatted times, returned by value */
struct spread {
	char at[56];
};

static struct spread spread_text(const struct perf_point *p)
{
	struct spread s;

	snprintf(s.at, sizeof(s.at), "%s..%s", perf_time_text(p->p1).at, perf_time_text(p->p99).at);
	return s;
}

static void print_head(const struct perf_result *r)
{
	size_t i;

	for (i = 0; i < r->nr_facts; i++)
		printf("%-8s %s\n", r->facts[i].name, r->facts[i].value);
	putchar('\n');
}

/* ---- the page --------------------------------------------------------------------------- */

static void print_point(const struct perf_point *p)
{
	printf(" %5s %6s %14s", perf_size_text(p->bytes).at, perf_time_text(p->median).at, spread_text(p).at);
}

/* The same size of the row that @row is compared with */
static void print_beside(const struct perf_result *r, const struct perf_row *row, const struct perf_point *p)
{
	const struct perf_row *other = *row->beside ? perf_find_row(r, row->beside) : NULL;
	const struct perf_point *q = other ? perf_find_point(other, p->bytes) : NULL;

	if (!q)
		return;
	printf("  %s: %s", other->title, row->rate ? rate_text(perf_rate(q)).at : perf_time_text(q->median).at);
}

static void print_row(const struct perf_result *r, const struct perf_row *row)
{
	const struct perf_point *first = &row->points[0], *last = &row->points[row->nr_points - 1];

	printf("%-36s", row->title);
	print_point(first);
	print_point(last);
	printf(" %6s", row->rate ? rate_text(perf_rate(last)).at : "");
	print_beside(r, row, last);
	putchar('\n');
}

enum {
	NOTE_WIDTH = 150,
};

/* Prints a word of a list, on a new line if the line is full. */
static size_t put_item(const char *item, size_t width)
{
	if (width + strlen(item) + 2 > NOTE_WIDTH) {
		fputs("\n     ", stdout);
		width = 5;
	}
	return width + (size_t)printf(" %s;", item);
}

/* Do all rows of the group of row @i, which is the group's first, have the same reason? */
static bool is_whole_group(const struct perf_result *r, size_t i)
{
	const struct perf_row *first = &r->rows[i];
	size_t k, count = 0;

	if (i && !strcmp(r->rows[i - 1].group, first->group))
		return false;
	for (k = i; k < r->nr_rows && !strcmp(r->rows[k].group, first->group); k++, count++)
		if (strcmp(r->rows[k].why, first->why))
			return false;
	return count > 1;
}

/* The reason of row @i, and all rows that have this reason */
static void put_note(const struct perf_result *r, size_t i)
{
	const char *why = r->rows[i].why, *group;
	size_t width = (size_t)printf("note: %s:", why), k;
	char text[40];

	for (k = i; k < r->nr_rows; k++) {
		if (strcmp(r->rows[k].why, why))
			continue;
		if (!is_whole_group(r, k)) {
			width = put_item(r->rows[k].title, width);
			continue;
		}
		group = r->rows[k].group;
		snprintf(text, sizeof(text), "all of %s", group);
		width = put_item(text, width);
		while (k + 1 < r->nr_rows && !strcmp(r->rows[k + 1].group, group))
			k++;
	}
	putchar('\n');
}

static bool is_said(const struct perf_result *r, size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (!strcmp(r->rows[k].why, r->rows[i].why))
			return true;
	return false;
}

static void print_not_measured(const struct perf_result *r)
{
	size_t i;

	for (i = 0; i < r->nr_rows; i++)
		if (*r->rows[i].why && !is_said(r, i))
			put_note(r, i);
}

void perf_print_page(const struct perf_result *r)
{
	const char *group = "";
	size_t i;

	print_head(r);
	printf("%-36s %5s %6s %14s %5s %6s %14s %6s  %s\n", "", "least", "median", "1st..99th %", "most", "median",
	       "1st..99th %", "GB/s", "beside, at the most");
	for (i = 0; i < r->nr_rows; i++) {
		if (!r->rows[i].nr_points)
			continue;
		if (*group && strcmp(group, r->rows[i].group))
			putchar('\n');
		group = r->rows[i].group;
		print_row(r, &r->rows[i]);
	}
	putchar('\n');
	print_not_measured(r);
}

/* ---- all sizes --------------------------------------------------------------------------- */

static void print_all_points(const struct perf_result *r, const struct perf_row *row)
{
	size_t i;

	for (i = 0; i < row->nr_points; i++) {
		const struct perf_point *p = &row->points[i];

		printf("  ");
		print_point(p);
		printf(" %7" PRIu64 " %6s", p->count, row->rate ? rate_text(perf_rate(p)).at : "");
		print_beside(r, row, p);
		putchar('\n');
	}
}

void perf_print_full(const struct perf_result *r)
{
	size_t i;

	print_head(r);
	printf("   %5s %6s %14s %7s %6s  %s\n", "size", "median", "1st..99th %", "samples", "GB/s", "beside");
	for (i = 0; i < r->nr_rows; i++) {
		if (!r->rows[i].nr_points)
			continue;
		puts(r->rows[i].title);
		print_all_points(r, &r->rows[i]);
	}
	putchar('\n');
	print_not_measured(r);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

static void put_cell(const char *text)
{
	putchar('"');
	for (; *text; text++)
		fputs(*text == '"' ? "\"\"" : (char[]){ *text, '\0' }, stdout);
	putchar('"');
}

static void put_line(const struct perf_row *row, const struct perf_point *p)
{
	put_cell(row->name);
	putchar(',');
	put_cell(row->title);
	putchar(',');
	put_cell(row->beside);
	if (p)
		printf(",%" PRIu64 ",%" PRIu64 ",%.1f,%.1f,%.1f,%.1f,", p->bytes, p->count, p->p1, p->median, p->p99, p->noise);
	else
		printf(",,,,,,,");
	if (p && row->rate)
		printf("%.6f", perf_rate(p));
	putchar(',');
	put_cell(p ? "" : row->why);
	putchar('\n');
}

void perf_print_csv(const struct perf_result *r)
{
	size_t i, k;

	puts("name,title,beside,bytes,samples,p1_ns,median_ns,p99_ns,noise_ns,gb_per_s,why");
	for (i = 0; i < r->nr_rows; i++) {
		for (k = 0; k < r->rows[i].nr_points; k++)
			put_line(&r->rows[i], &r->rows[i].points[k]);
		if (*r->rows[i].why)
			put_line(&r->rows[i], NULL);
	}
}
