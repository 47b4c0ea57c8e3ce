// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

enum {
	TOLD_MAX = 64,
	TEXT_MAX = 512,
};

static const char *id;
static char told[TOLD_MAX][TEXT_MAX];
static size_t nr_told;
static bool tainted;

/* Replaces control characters in @text, so that the report stays on one line. */
static void print(const char *word, char *text)
{
	char *p;

	for (p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
	printf("%s %s%s%s\n", word, id, *text ? " " : "", text);
	fflush(stdout);
}

void report_begin(const char *new_id)
{
	char nothing[] = "";

	id = new_id;
	nr_told = 0;
	tainted = false;
	print("begin", nothing);
}

void report_skip(const char *new_id)
{
	char nothing[] = "";

	id = new_id;
	print("skip", nothing);
}

void report_line(const char *word, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	print(word, text);
}

static bool is_told(const char *text)
{
	size_t i;

	for (i = 0; i < nr_told; i++)
		if (!strcmp(told[i], text))
			return true;
	return false;
}

void report_finding(const char *rule, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;
	int length = snprintf(text, sizeof(text), "%s ", rule);

	va_start(args, format);
	vsnprintf(text + length, sizeof(text) - (size_t)length, format, args);
	va_end(args);
	if (nr_told == TOLD_MAX || is_told(text))
		return;
	strcpy(told[nr_told++], text);
	print("finding", text);
}

size_t report_findings(void)
{
	return nr_told;
}

void report_taint(void)
{
	tainted = true;
}

bool report_end(void)
{
	report_line("end", "%s", tainted ? "dirty" : "clean");
	return tainted;
}
