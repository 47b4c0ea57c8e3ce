// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tool/util/grow.h"
#include "result.h"

enum {
	MAX_LOG = 60,
};

struct result *results_begin(struct results *results, const struct scenario *scenario)
{
	struct result *result;

	results->at = grow(results->at, results->count, sizeof(*results->at));
	result = &results->at[results->count++];
	result->scenario = *scenario;
	return result;
}

void result_forget(struct result *result)
{
	struct scenario scenario = result->scenario;

	free(result->findings);
	free(result->log);
	*result = (struct result) { .scenario = scenario };
}

void results_free(struct results *results)
{
	size_t i;

	for (i = 0; i < results->count; i++)
		result_forget(&results->at[i]);
	free(results->at);
	*results = (struct results) { 0 };
}

/* Length of a control character at @text, else 0. In UTF-8, control characters U+0080 to U+009F have two bytes. */
static size_t control_length(const char *text)
{
	unsigned char first = (unsigned char)text[0], second = (unsigned char)text[1];

	if (first < ' ' || first == 0x7f)
		return 1;
	return first == 0xc2 && second >= 0x80 && second < 0xa0 ? 2 : 0;
}

void copy_plain(char *to, size_t size, const char *from)
{
	size_t length;

	snprintf(to, size, "%s", from);
	for (; *to; to++) {
		length = control_length(to);
		memset(to, ' ', length);
	}
}

void result_find(struct result *result, const char *rule, const char *text)
{
	struct finding *finding;

	result->findings = grow(result->findings, result->nr_findings, sizeof(*finding));
	finding = &result->findings[result->nr_findings++];
	copy_plain(finding->rule, sizeof(finding->rule), rule);
	copy_plain(finding->text, sizeof(finding->text), text);
}

void result_log(struct result *result, const char *text)
{
	struct log_line *line;

	if (result->nr_log == MAX_LOG)
		return;
	result->log = grow(result->log, result->nr_log, sizeof(*line));
	line = &result->log[result->nr_log++];
	copy_plain(line->text, sizeof(line->text), text);
}

bool result_has(const struct result *result, const char *rule)
{
	size_t i;

	for (i = 0; i < result->nr_findings; i++)
		if (!strcmp(result->findings[i].rule, rule))
			return true;
	return false;
}
