// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include "tool/util/markup.h"
#include "tool/tool.h"
#include "html.h"
#include "words.h"

static void put_element(FILE *file, const char *tag, const char *text)
{
	fprintf(file, "<%s>", tag);
	put_markup(file, text);
	fprintf(file, "</%s>", tag);
}

static void put_head(FILE *file, const struct summary *s)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", file);
	put_markup(file, s->run->args->driver);
	fputs("</title>\n<style>\n"
	      "body { font-family: sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em }\n"
	      "table { border-collapse: collapse; width: 100% }\n"
	      "th, td { text-align: left; padding: .2em .6em; border-bottom: 1px solid #ddd }\n"
	      "pre { background: #f4f4f4; padding: .6em; overflow-x: auto }\n"
	      ".ok { color: #060 } .broken { color: #a00; font-weight: bold } .not-tried { color: #777 }\n"
	      "</style></head><body>\n", file);
}

static void put_outcome(FILE *file, const struct summary *s)
{
	const char *stop = summary_stop(s);

	put_element(file, "h1", s->run->args->driver);
	fprintf(file, "\n<p>%s: %zu scenarios in %ld s, rules broken: %zu", summary_outcome(s), s->ran, s->ms / 1000,
		s->broken);
	if (stop) {
		fputs("; ", file);
		put_markup(file, stop);
	}
	fputs("</p>\n", file);
}

static const char *class_of(enum verdict verdict)
{
	static const char *const classes[] = {
		[VERDICT_OK] = "ok",
		[VERDICT_BROKEN] = "broken",
		[VERDICT_NOT_TRIED] = "not-tried",
	};

	return classes[verdict];
}

static void put_row(FILE *file, const struct judgement *j)
{
	fputs("<tr>", file);
	put_element(file, "td", j->rule->name);
	put_element(file, "td", j->rule->section);
	put_element(file, "td", j->rule->text);
	fprintf(file, "<td class=\"%s\">%s</td>", class_of(j->verdict), verdict_name(j->verdict));
	if (j->times)
		fprintf(file, "<td>%zu</td><td><a href=\"#%s\">%s</a></td>", j->times, j->rule->name,
			j->result->scenario.id);
	else
		fputs("<td></td><td></td>", file);
	fputs("</tr>\n", file);
}

static void put_table(FILE *file, const struct summary *s)
{
	size_t i;

	fputs("<table>\n<tr><th>rule</th><th>section</th><th>broken by</th><th>verdict</th><th>times</th>"
	      "<th>first in</th></tr>\n", file);
	for (i = 0; i < s->count; i++)
		put_row(file, &s->judgements[i]);
	fputs("</table>\n", file);
}

/* Formats the scenario as the text report does, and escapes the text for HTML. */
static void put_scenario(FILE *file, const struct summary *s, const struct scenario *scenario)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		no_memory();
	fprintf(memory, "%s: ", scenario->id);
	words_of_scenario(memory, scenario, &s->run->recording);
	fputs("\n", memory);
	print_repeat(memory, s->run->args, scenario->id);
	fclose(memory);
	put_markup(file, text);
	free(text);
}

static void put_log(FILE *file, const struct result *result)
{
	size_t i;

	if (!result->nr_log)
		return;
	fputs("<pre>", file);
	for (i = 0; i < result->nr_log; i++) {
		put_markup(file, result->log[i].text);
		putc('\n', file);
	}
	fputs("</pre>\n", file);
}

static void put_broken(FILE *file, const struct summary *s, const struct judgement *j)
{
	fprintf(file, "<h2 id=\"%s\">%s</h2>\n", j->rule->name, j->rule->name);
	put_element(file, "p", j->finding->text);
	fputs("\n<pre>", file);
	put_scenario(file, s, &j->result->scenario);
	fputs("</pre>\n", file);
	put_log(file, j->result);
}

void html_report(FILE *file, const struct summary *summary)
{
	size_t i;

	put_head(file, summary);
	put_outcome(file, summary);
	put_table(file, summary);
	for (i = 0; i < summary->count; i++)
		if (summary->judgements[i].verdict == VERDICT_BROKEN)
			put_broken(file, summary, &summary->judgements[i]);
	fputs("</body></html>\n", file);
}
