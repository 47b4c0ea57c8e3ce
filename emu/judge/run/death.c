// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include "emu/judge/log/kmsg.h"
#include "emu/judge/log/splat.h"
#include "death.h"

enum {
	NR_LAST = 12,
	LINE = 400,
};

/* Returns the line after its time stamp. */
static const char *words_of(const char *line)
{
	const char *behind;

	if (*line != '[')
		return line;
	behind = strstr(line, "] ");
	return behind ? behind + 2 : line;
}

/*
 * Adds a violation that the emulator logged: "violation by MODULE, WHERE: RULE: TEXT".
 * Adds each rule only once.
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

/**
 * struct reading - state while reading a log
 * @late: the last scenario has ended. Then only splats that disturb later scenarios count: the guest has already
 *	reported the other splats.
 * @complained: a splat that counts was found
 */
struct reading {
	struct result *result;
	bool late;
	bool complained;
};

static void take_splat(struct reading *r, const struct splat *splat)
{
	if (r->late && !splat_disturbs(splat))
		return;
	r->complained = true;
	if (!result_has(r->result, splat->rule))
		result_find(r->result, splat->rule, splat->text);
}

static void take_line(struct reading *r, struct splat *splat, const char *line)
{
	struct splat ended;

	if (splat_feed(splat, words_of(line), &ended))
		take_splat(r, &ended);
	if (splat_is_open(splat) && (!r->late || splat_disturbs(splat)))
		result_log(r->result, words_of(line));
}

/* Position after the last JUDGE_MARK. Only this mark shows where the scenario begins in the log. */
static long behind_last_mark(FILE *file)
{
	char line[LINE];
	long at = 0;

	while (next_line(file, line))
		if (strstr(line, JUDGE_MARK))
			at = ftell(file);
	return at;
}

static void read_log(struct reading *r, FILE *file)
{
	struct splat splat = { 0 }, ended;
	char line[LINE];

	fseek(file, behind_last_mark(file), SEEK_SET);
	while (next_line(file, line)) {
		if (!r->late)
			take_violation(r->result, line);
		take_line(r, &splat, line);
	}
	if (splat_end(&splat, &ended))
		take_splat(r, &ended);
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

static void judge_log(struct result *result, FILE *file)
{
	struct reading reading = { .result = result };
	size_t before = result->nr_findings;

	read_log(&reading, file);
	if (reading.complained || result->nr_findings > before)
		return;
	result_find(result, "hang", "the virtual machine hung or died, and its kernel log does not say why");
	add_last_words(result, file);
}

void death_judge(struct result *result, const char *log)
{
	FILE *file = fopen(log, "re");

	if (!file) {
		result_find(result, "hang", "the virtual machine hung or died, and left no log");
		return;
	}
	judge_log(result, file);
	fclose(file);
}

void death_judge_late(struct result *result, const char *log)
{
	struct reading reading = { .result = result, .late = true };
	FILE *file = fopen(log, "re");

	if (!file)
		return;
	read_log(&reading, file);
	fclose(file);
}
