// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include "text.h"
#include "words.h"

enum {
	NR_LOG = 25,
};

static void put_outcome(FILE *file, const struct summary *s)
{
	const struct rule *rule = s->headline ? s->headline->rule : NULL;

	if (!rule)
		fprintf(file, "%s: %s\n", s->run->args->driver, summary_outcome(s));
	else if (*rule->section)
		fprintf(file, "%s: BROKEN: %s (%s): %s\n", s->run->args->driver, rule->name, rule->section, rule->text);
	else
		fprintf(file, "%s: BROKEN: %s: %s\n", s->run->args->driver, rule->name, rule->text);
}

static void put_counts(FILE *file, const struct summary *s)
{
	const char *stop = summary_stop(s);

	fprintf(file, "%zu scenario%s in %ld s, rules broken: %zu", s->ran, s->ran == 1 ? "" : "s", s->ms / 1000,
		s->broken);
	if (stop)
		fprintf(file, "; %s", stop);
	fputs("\n\n", file);
}

static void put_row(FILE *file, const struct judgement *j)
{
	fprintf(file, "%-22s %-7s  ", j->rule->name, j->rule->section);
	if (j->times)
		fprintf(file, "%-9s %5zu  %s\n", verdict_name(j->verdict), j->times, j->result->scenario.id);
	else
		fprintf(file, "%s\n", verdict_name(j->verdict));
}

static void put_table(FILE *file, const struct summary *s)
{
	size_t i;

	fprintf(file, "%-22s %-7s  %-9s %5s  %s\n", "rule", "section", "verdict", "times", "first in");
	for (i = 0; i < s->count; i++)
		put_row(file, &s->judgements[i]);
}

static void put_log(FILE *file, const struct result *result)
{
	size_t i;

	if (result->nr_log)
		fputs("  kernel log:\n", file);
	for (i = 0; i < result->nr_log && i < NR_LOG; i++)
		fprintf(file, "    %s\n", result->log[i].text);
}

static void put_broken(FILE *file, const struct summary *s, const struct judgement *j)
{
	fprintf(file, "\n%s: %s\n", j->rule->name, j->rule->text);
	fprintf(file, "  found:    %s%s%s\n", strcmp(j->rule->name, "other") ? "" : j->finding->rule,
		strcmp(j->rule->name, "other") ? "" : ": ", j->finding->text);
	fprintf(file, "  scenario: %s: ", j->result->scenario.id);
	words_of_scenario(file, &j->result->scenario, &s->run->recording);
	fputs("\n  again:    ", file);
	print_repeat(file, s->run->args, j->result->scenario.id);
	putc('\n', file);
	put_log(file, j->result);
}

void text_report(FILE *file, const struct summary *summary)
{
	size_t i;

	put_outcome(file, summary);
	put_counts(file, summary);
	put_table(file, summary);
	for (i = 0; i < summary->count; i++)
		if (summary->judgements[i].verdict == VERDICT_BROKEN)
			put_broken(file, summary, &summary->judgements[i]);
}
