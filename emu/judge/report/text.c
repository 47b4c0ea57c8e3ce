// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include "tool/util/colour.h"
#include "source.h"
#include "text.h"
#include "words.h"

enum {
	NR_LOG = 25,
};

static enum text_colour colour_of(enum verdict verdict)
{
	static const enum text_colour colours[] = {
		[VERDICT_OK] = COLOUR_GREEN,
		[VERDICT_BROKEN] = COLOUR_RED,
		[VERDICT_NOT_TRIED] = COLOUR_DIM,
	};

	return colours[verdict];
}

static void put_outcome(FILE *file, const struct summary *s)
{
	const struct rule *rule = s->headline ? s->headline->rule : NULL;
	enum text_colour colour = rule ? COLOUR_RED : summary_status(s) ? COLOUR_YELLOW : COLOUR_GREEN;

	fprintf(file, "%s: %s%s%s", s->run->args->driver, colour_on(file, colour), rule ? "BROKEN" : summary_outcome(s),
		colour_off(file, colour));
	if (rule && *rule->section)
		fprintf(file, ": %s (%s): %s", rule->name, rule->section, rule->text);
	else if (rule)
		fprintf(file, ": %s: %s", rule->name, rule->text);
	putc('\n', file);
}

static void put_counts(FILE *file, const struct summary *s)
{
	const char *stop = summary_stop(s);

	fprintf(file, "%zu scenario%s in %ld s, rules broken: %zu", s->ran, s->ran == 1 ? "" : "s", s->ms / 1000,
		s->broken);
	if (stop)
		fprintf(file, "; %s", stop);
	putc('\n', file);
}

static void put_notes(FILE *file, const struct summary *s)
{
	unsigned int i;

	for (i = 0; i < summary_notes(s); i++) {
		fputs("note: ", file);
		words_of_note(file, s, i);
		putc('\n', file);
	}
	putc('\n', file);
}

static void put_left(FILE *file, const struct summary *s)
{
	if (!s->nr_left)
		return;
	words_of_left(file, s);
	fputs("\n  all:      ", file);
	print_repeat(file, s->run->args, NULL);
	fputs("\n\n", file);
}

static void put_row(FILE *file, const struct judgement *j)
{
	enum text_colour colour = colour_of(j->verdict);

	fprintf(file, "%-22s %-7s  %s%-*s%s", j->rule->name, j->rule->section, colour_on(file, colour), j->times ? 9 : 0,
		verdict_name(j->verdict), colour_off(file, colour));
	if (j->times)
		fprintf(file, " %5zu  %s", j->times, j->result->scenario.id);
	putc('\n', file);
}

static void put_table(FILE *file, const struct summary *s)
{
	size_t i;

	fprintf(file, "%-22s %-7s  %-9s %5s  %s\n", "rule", "section", "verdict", "times", "first in");
	for (i = 0; i < s->count; i++)
		put_row(file, &s->judgements[i]);
}

static void put_log(FILE *file, const struct summary *s, const struct result *result)
{
	char text[SOURCE_MAX];
	size_t i;

	if (result->nr_log)
		fputs("  kernel log:\n", file);
	for (i = 0; i < result->nr_log && i < NR_LOG; i++)
		fprintf(file, "    %s\n", source_text(s->run->args->driver, result->log[i].text, text));
}

static void put_broken(FILE *file, const struct summary *s, const struct judgement *j)
{
	char text[SOURCE_MAX];

	fprintf(file, "%s: %s\n", j->rule->name, j->rule->text);
	fprintf(file, "  severity: %s\n", severity_name(j->rule->severity));
	fprintf(file, "  found:    %s%s%s\n", strcmp(j->rule->name, "other") ? "" : j->finding->rule,
		strcmp(j->rule->name, "other") ? "" : ": ",
		source_text(s->run->args->driver, j->finding->text, text));
	words_of_memory(file, s, j);
	fprintf(file, "  scenario: %s: ", j->result->scenario.id);
	words_of_scenario(file, &j->result->scenario, &s->run->recording);
	fputs("\n  again:    ", file);
	print_repeat(file, s->run->args, j->result->scenario.id);
	putc('\n', file);
	if (summary_is_first(s, j))
		put_log(file, s, j->result);
	putc('\n', file);
}

void text_report(FILE *file, const struct summary *summary)
{
	size_t i;

	put_outcome(file, summary);
	put_counts(file, summary);
	put_notes(file, summary);
	for (i = 0; i < summary->count; i++)
		if (summary->judgements[i].verdict == VERDICT_BROKEN)
			put_broken(file, summary, &summary->judgements[i]);
	put_left(file, summary);
	put_table(file, summary);
}
