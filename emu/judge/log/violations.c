// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "violations.h"

#define TABLE "/sys/kernel/debug/emugpu/violations"

/* Cuts @at at the next @end; returns the text after @end, or NULL. */
static char *cut(char *at, const char *end)
{
	char *found = strstr(at, end);

	if (!found)
		return NULL;
	*found = '\0';
	return found + strlen(end);
}

/* WHERE may contain blanks, so RULE is the last word before the first ": ". */
bool violation_parse(const char *line, struct violation *out)
{
	char copy[512], *module, *where, *text, *rule;

	snprintf(copy, sizeof(copy), "%s", line);
	module = cut(copy, " ");
	where = module ? cut(module, " ") : NULL;
	text = where ? cut(where, ": ") : NULL;
	rule = text ? strrchr(where, ' ') : NULL;
	if (!rule || *copy < '0' || *copy > '9')
		return false;
	*rule++ = '\0';
	out->count = strtoull(copy, NULL, 10);
	snprintf(out->module, sizeof(out->module), "%.63s", module);
	snprintf(out->where, sizeof(out->where), "%.127s", where);
	snprintf(out->rule, sizeof(out->rule), "%.47s", rule);
	snprintf(out->text, sizeof(out->text), "%.191s", text);
	return true;
}

int violations_read(struct violations *out)
{
	FILE *file = fopen(TABLE, "re");
	char line[512];

	out->nr = 0;
	if (!file)
		return -errno;
	while (out->nr < VIOLATIONS_MAX && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		out->nr += violation_parse(line, &out->at[out->nr]);
	}
	fclose(file);
	return 0;
}

uint64_t violations_new(const struct violations *before, const struct violation *v)
{
	size_t i;

	for (i = 0; i < before->nr; i++)
		if (!strcmp(before->at[i].module, v->module) && !strcmp(before->at[i].rule, v->rule))
			return v->count - before->at[i].count;
	return v->count;
}
