// SPDX-License-Identifier: MIT
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "results.h"

enum { FIELDS = 6, LINE_MAX_BYTES = 2048 };	/* FIELDS: one more than a valid line has, to detect longer lines */

static bool copy_text(char *to, const char *from)
{
	return snprintf(to, TEXT_MAX, "%s", from) < TEXT_MAX;
}

static bool take_place(struct results *r, char **fields)
{
	return copy_text(r->place, fields[1]);
}

static struct plot *find_plot(struct results *r, const char *name)
{
	for (unsigned int i = 0; i < r->count; i++)
		if (!strcmp(r->plots[i].name, name))
			return &r->plots[i];
	return NULL;
}

static bool take_figure(struct results *r, char **fields)
{
	struct plot *p = &r->plots[r->count];

	if (r->count == PLOTS_MAX || find_plot(r, fields[1]))
		return false;
	r->count++;
	memcpy(p->place, r->place, sizeof(p->place));
	return copy_text(p->name, fields[1]) && copy_text(p->title, fields[2]) && copy_text(p->x, fields[3]) &&
	       copy_text(p->unit, fields[4]);
}

/* Find or add the series @name. NULL: no place is left */
static struct series *get_series(struct plot *p, const char *name)
{
	struct series *s;

	for (unsigned int i = 0; i < p->count; i++)
		if (!strcmp(p->series[i].name, name))
			return &p->series[i];
	if (p->count == SERIES_MAX)
		return NULL;
	s = &p->series[p->count++];
	return copy_text(s->name, name) ? s : NULL;
}

static bool take_point(struct results *r, char **fields)
{
	struct plot *p = find_plot(r, fields[1]);
	struct series *s = p ? get_series(p, fields[2]) : NULL;
	double x = strtod(fields[3], NULL), y = strtod(fields[4], NULL);

	if (!s || s->count == POINTS_MAX || !(x > 0 && y > 0))
		return false;
	s->x[s->count] = x;
	s->y[s->count++] = y;
	return true;
}

static const struct {
	const char *name;
	unsigned int fields;
	bool (*take)(struct results *r, char **fields);
} kinds[] = {
	{ "place", 2, take_place },
	{ "figure", 5, take_figure },
	{ "point", 5, take_point },
};

static unsigned int split(char *line, char **fields)
{
	unsigned int n = 0;

	line[strcspn(line, "\n")] = 0;
	while (n < FIELDS && (fields[n] = strsep(&line, "\t")))
		n++;
	return n;
}

static bool take_line(struct results *r, char *line)
{
	char *fields[FIELDS] = { NULL };
	unsigned int n = split(line, fields);

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(fields[0], kinds[i].name))
			return n == kinds[i].fields && kinds[i].take(r, fields);
	return true;
}

unsigned int results_read(struct results *r, FILE *in)
{
	char line[LINE_MAX_BYTES];
	unsigned int number = 0;

	memset(r, 0, sizeof(*r));
	while (fgets(line, sizeof(line), in)) {
		number++;
		if (!take_line(r, line))
			return number;
	}
	return 0;
}
