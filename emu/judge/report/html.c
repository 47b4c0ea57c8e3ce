// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include "tool/util/markup.h"
#include "tool/tool.h"
#include "html.h"
#include "source.h"
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
	      ":root { color-scheme: light dark; --text: #111; --page: #fff; --line: #ddd; --code: #f4f4f4; --good: #060; "
	      "--bad: #a00; --dim: #666 }\n"
	      "@media (prefers-color-scheme: dark) { :root { --text: #ddd; --page: #161616; --line: #444; "
	      "--code: #262626; --good: #7c7; --bad: #f88; --dim: #999 } }\n"
	      "body { font-family: sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: var(--text); "
	      "background: var(--page); overflow-wrap: anywhere }\n"
	      "table { border-collapse: collapse; width: 100%; display: block; overflow-x: auto; overflow-wrap: normal }\n"
	      "th, td { text-align: left; padding: .2em .6em; border-bottom: 1px solid var(--line) }\n"
	      "pre { background: var(--code); padding: .6em; white-space: pre-wrap }\n"
	      ".verdict { font-size: 1.2em }\n"
	      ".ok { color: var(--good) } .broken { color: var(--bad); font-weight: bold } "
	      ".not-tried { color: var(--dim) }\n"
	      "</style></head><body>\n", file);
}

/* The verdict in one sentence */
static void put_sentence(FILE *file, const struct summary *s)
{
	static const char *const sentences[] = {
		[EXIT_OK] = "The driver broke no rule.",
		[EXIT_USAGE] = "The driver broke no rule, but the run is not complete.",
	};
	const struct rule *rule = s->headline ? s->headline->rule : NULL;

	if (rule)
		fprintf(file, "The driver broke %zu rule%s, first of all %s (%s): %s.", s->broken,
			s->broken == 1 ? "" : "s", rule->name, severity_name(rule->severity), rule->text);
	else
		fputs(sentences[summary_status(s)], file);
}

static void put_outcome(FILE *file, const struct summary *s)
{
	const char *stop = summary_stop(s);

	put_element(file, "h1", s->run->args->driver);
	fputs("\n<p class=\"verdict\">", file);
	put_sentence(file, s);
	fprintf(file, "</p>\n<p>%zu scenario%s in %ld s, rules broken: %zu", s->ran, s->ran == 1 ? "" : "s",
		s->ms / 1000, s->broken);
	if (stop) {
		fputs("; ", file);
		put_markup(file, stop);
	}
	fputs("</p>\n", file);
}

/* @put: prints a text with print_repeat() and functions of words.h. Escapes this text for HTML. */
static void put_text(FILE *file, void (*put)(FILE *file, const struct summary *s, const void *arg),
		     const struct summary *s, const void *arg)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		no_memory();
	put(memory, s, arg);
	fclose(memory);
	put_markup(file, text);
	free(text);
}

static void note_text(FILE *file, const struct summary *s, const void *i)
{
	words_of_note(file, s, *(const unsigned int *)i);
}

static void put_notes(FILE *file, const struct summary *s)
{
	unsigned int i;

	for (i = 0; i < summary_notes(s); i++) {
		fputs("<p>Note: ", file);
		put_text(file, note_text, s, &i);
		fputs("</p>\n", file);
	}
}

static void left_text(FILE *file, const struct summary *s, const void *unused)
{
	(void)unused;
	words_of_left(file, s);
	putc('\n', file);
	print_repeat(file, s->run->args, NULL);
}

static void put_left(FILE *file, const struct summary *s)
{
	if (!s->nr_left)
		return;
	fputs("<pre>", file);
	put_text(file, left_text, s, NULL);
	fputs("</pre>\n", file);
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

	fputs("<h2>All rules</h2>\n<table>\n<tr><th>rule</th><th>section</th><th>broken by</th><th>verdict</th><th>times</th>"
	      "<th>first in</th></tr>\n", file);
	for (i = 0; i < s->count; i++)
		put_row(file, &s->judgements[i]);
	fputs("</table>\n", file);
}

static void scenario_text(FILE *file, const struct summary *s, const void *arg)
{
	const struct judgement *j = arg;
	const struct scenario *scenario = &j->result->scenario;

	words_of_memory(file, s, j);
	fprintf(file, "%s: ", scenario->id);
	words_of_scenario(file, scenario, &s->run->recording);
	fputs("\n", file);
	print_repeat(file, s->run->args, scenario->id);
}

static void put_log(FILE *file, const struct summary *s, const struct result *result)
{
	char text[SOURCE_MAX];
	size_t i;

	if (!result->nr_log)
		return;
	fputs("<pre>", file);
	for (i = 0; i < result->nr_log; i++) {
		put_markup(file, source_text(s->run->args->driver, result->log[i].text, text));
		putc('\n', file);
	}
	fputs("</pre>\n", file);
}

static void put_broken(FILE *file, const struct summary *s, const struct judgement *j)
{
	char text[SOURCE_MAX];

	fprintf(file, "<h2 id=\"%s\">%s</h2>\n", j->rule->name, j->rule->name);
	fprintf(file, "<p>%s: ", severity_name(j->rule->severity));
	put_markup(file, j->rule->text);
	fputs("</p>\n", file);
	put_element(file, "p", source_text(s->run->args->driver, j->finding->text, text));
	fputs("\n<pre>", file);
	put_text(file, scenario_text, s, j);
	fputs("</pre>\n", file);
	if (summary_is_first(s, j))
		put_log(file, s, j->result);
}

void html_report(FILE *file, const struct summary *summary)
{
	size_t i;

	put_head(file, summary);
	put_outcome(file, summary);
	put_notes(file, summary);
	for (i = 0; i < summary->count; i++)
		if (summary->judgements[i].verdict == VERDICT_BROKEN)
			put_broken(file, summary, &summary->judgements[i]);
	put_left(file, summary);
	put_table(file, summary);
	fputs("</body></html>\n", file);
}
