// SPDX-License-Identifier: MIT
#include <string.h>
#include "tool/util/colour.h"
#include "text.h"

static enum text_colour colour_of_health(enum health health)
{
	static const enum text_colour colours[] = {
		[HEALTH_OK] = COLOUR_GREEN,
		[HEALTH_WARN] = COLOUR_YELLOW,
		[HEALTH_FAIL] = COLOUR_RED,
		[HEALTH_UNSEEN] = COLOUR_BOLD,
	};

	return colours[health];
}

/* The subject "machine" is not printed. */
static void put_finding(FILE *file, const struct finding *f)
{
	enum text_colour colour = colour_of_health(f->health);

	fprintf(file, "%s%-4s%s  %-18s  ", colour_on(file, colour), health_name(f->health), colour_off(file, colour),
		f->check->id);
	if (strcmp(f->subject, "machine"))
		fprintf(file, "%s: ", f->subject);
	fprintf(file, "%s [%s]\n", f->why, f->check->section);
}

/* Prints the command of a finding, unless the next finding has the same command. */
static void put_type(FILE *file, const struct finding *f, const struct finding *next)
{
	if (f->type[0] && (!next || strcmp(f->type, next->type)))
		fprintf(file, "%26stype: %s\n", "", f->type);
}

static void put_findings(FILE *file, const struct report *r)
{
	const struct finding *f = r->at, *end = r->at + r->count;

	for (; f < end; f++) {
		put_finding(file, f);
		put_type(file, f, f + 1 < end ? f + 1 : NULL);
	}
}

static enum text_colour colour_of_pair(enum pair_verdict verdict)
{
	static const enum text_colour colours[] = {
		[PAIR_WELL] = COLOUR_GREEN,
		[PAIR_SLOW] = COLOUR_YELLOW,
		[PAIR_NOT] = COLOUR_RED,
		[PAIR_UNKNOWN] = COLOUR_BOLD,
	};

	return colours[verdict];
}

static void put_pair(FILE *file, const struct view *v, const struct pair *p)
{
	const struct device *peer = &v->machine.at[p->peer];
	enum text_colour colour = colour_of_pair(p->verdict);

	fprintf(file, "GPU %u (%s) - %s (%s), %s: %s%s%s: %s\n", p->gpu_number, address(v, p->gpu), peer_name(peer),
		peer->name, path_class_name(p->path.class), colour_on(file, colour), pair_verdict_name(p->verdict),
		colour_off(file, colour), p->reason);
}

static void put_count(FILE *file, size_t count, const char *one, const char *many)
{
	fprintf(file, "%zu %s", count, count == 1 ? one : many);
}

static void put_counts(FILE *file, const struct report *r)
{
	putc('\n', file);
	put_count(file, report_count(r, HEALTH_FAIL), "failure, ", "failures, ");
	put_count(file, report_count(r, HEALTH_WARN), "warning, ", "warnings, ");
	put_count(file, report_count(r, HEALTH_UNSEEN), "thing could not be seen, ", "things could not be seen, ");
	fprintf(file, "%zu OK\n", report_count(r, HEALTH_OK));
}

void doctor_text(FILE *file, const struct view *v, const struct report *r, const struct pairs *pairs)
{
	size_t i;

	put_findings(file, r);
	if (pairs->count)
		putc('\n', file);
	for (i = 0; i < pairs->count; i++)
		put_pair(file, v, &pairs->at[i]);
	put_counts(file, r);
}
