// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include "../emu/judge/splat.h"
#include "verify_death.h"

enum {
	NR_LAST = 12,
	LINE = 400,
};

/* A line without its time stamp. */
static const char *words_of(const char *line)
{
	const char *behind;

	if (*line != '[')
		return line;
	behind = strstr(line, "] ");
	return behind ? behind + 2 : line;
}

/*
 * The emulator wrote down what the driver did wrong before: "violation by
 * MODULE, WHERE: RULE: TEXT". Each rule once.
 */
static void take_violation(struct result *result, const char *line)
{
	const char *by = strstr(line, "violation by ");
	const char *name = by ? strstr(by, ": ") : NULL;
	char rule[32];

	if (!name || sscanf(name + 2, "%31[a-z-]:", rule) != 1 || result_has(result, rule))
		return;
	result_find(result, rule, by);
}

static bool next_line(FILE *file, char *line)
{
	if (!fgets(line, LINE, file))
		return false;
	line[strcspn(line, "\r\n")] = '\0';
	return true;
}

static void find_splat(struct result *result, const struct splat *splat)
{
	result_find(result, splat->rule, splat->text);
}

/* Whether there was a complaint. */
static bool judge_splats(struct result *result, FILE *file)
{
	struct splat splat = { 0 }, ended;
	size_t before = result->nr_findings;
	char line[LINE];

	while (next_line(file, line)) {
		take_violation(result, line);
		if (splat_feed(&splat, words_of(line), &ended))
			find_splat(result, &ended);
		if (splat_is_open(&splat))
			result_log(result, words_of(line));
	}
	if (splat_end(&splat, &ended))
		find_splat(result, &ended);
	return result->nr_findings > before;
}

static long count_lines(FILE *file)
{
	char line[LINE];
	long lines = 0;

	rewind(file);
	while (next_line(file, line))
		lines++;
	rewind(file);
	return lines;
}

static void add_last_words(struct result *result, FILE *file)
{
	long lines = count_lines(file);
	char line[LINE];

	for (; next_line(file, line); lines--)
		if (lines <= NR_LAST)
			result_log(result, words_of(line));
}

static void judge_log(struct result *result, FILE *file, long from)
{
	fseek(file, from, SEEK_SET);
	if (judge_splats(result, file))
		return;
	result_find(result, "hang", "the machine did not go on, and its kernel does not say why");
	add_last_words(result, file);
}

void death_judge(struct result *result, const char *log, long from)
{
	FILE *file = fopen(log, "re");

	if (!file) {
		result_find(result, "hang", "the machine did not go on, and left no log");
		return;
	}
	judge_log(result, file, from);
	fclose(file);
}
