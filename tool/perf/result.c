// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "result.h"
#include "stats.h"
#include "tool/tool.h"
#include "tool/util/grow.h"
#include "tool/util/printable.h"

void perf_add_fact(struct perf_result *r, const char *name, const char *format, ...)
{
	struct perf_fact *f = &r->facts[r->nr_facts];
	va_list args;

	if (r->nr_facts == PERF_FACTS)
		return;
	r->nr_facts++;
	snprintf(f->name, sizeof(f->name), "%s", name);
	va_start(args, format);
	vsnprintf(f->value, sizeof(f->value), format, args);
	va_end(args);
	make_printable(f->value);
}

struct perf_row *perf_add_row(struct perf_result *r, const char *name)
{
	struct perf_row *row;

	r->rows = grow(r->rows, r->nr_rows, sizeof(*row));
	row = &r->rows[r->nr_rows++];
	snprintf(row->name, sizeof(row->name), "%s", name);
	return row;
}

void perf_add_point(struct perf_row *row, const struct perf_point *point)
{
	row->points = grow(row->points, row->nr_points, sizeof(*point));
	row->points[row->nr_points++] = *point;
}

const struct perf_row *perf_find_row(const struct perf_result *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->nr_rows; i++)
		if (!strcmp(r->rows[i].name, name))
			return &r->rows[i];
	return NULL;
}

const struct perf_point *perf_find_point(const struct perf_row *row, uint64_t bytes)
{
	size_t i;

	for (i = 0; i < row->nr_points; i++)
		if (row->points[i].bytes == bytes)
			return &row->points[i];
	return NULL;
}

static struct perf_point *point_of(struct perf_row *row, uint64_t bytes)
{
	size_t i;

	for (i = 0; i < row->nr_points; i++)
		if (row->points[i].bytes == bytes)
			return &row->points[i];
	perf_add_point(row, &(struct perf_point){ .bytes = bytes });
	return &row->points[i];
}

void perf_add_samples(struct perf_row *row, uint64_t bytes, const double *samples, size_t count)
{
	struct perf_point *p = point_of(row, bytes);

	p->samples = reallocarray(p->samples, p->count + count, sizeof(*samples));
	if (!p->samples)
		no_memory();
	memcpy(p->samples + p->count, samples, count * sizeof(*samples));
	perf_sum_up(p->samples, p->count + count, p);
}

double perf_rate(const struct perf_point *point)
{
	return point->median > 0 ? (double)point->bytes / point->median : 0;
}

void perf_free(struct perf_result *r)
{
	struct perf_row *row;

	while (r->nr_rows) {
		row = &r->rows[--r->nr_rows];
		while (row->nr_points)
			free(row->points[--row->nr_points].samples);
		free(row->points);
	}
	free(r->rows);
	*r = (struct perf_result){ 0 };
}
