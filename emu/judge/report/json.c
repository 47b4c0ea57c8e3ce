// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include "tool/util/json.h"
#include "tool/tool.h"
#include "json.h"
#include "source.h"

static void add_repeat(struct json_object *o, const struct summary *s, const char *id)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		no_memory();
	print_repeat(file, s->run->args, id);
	fclose(file);
	json_add_text(o, "repeat", text);
	free(text);
}

static struct json_object *json_log(const struct summary *s, const struct result *result)
{
	struct json_object *lines = json_object_new_array();
	char text[SOURCE_MAX];
	size_t i;

	for (i = 0; i < result->nr_log; i++)
		json_object_array_add(lines, json_text(source_text(s->run->args->driver, result->log[i].text, text)));
	return lines;
}

static struct json_object *json_rule(const struct summary *s, const struct judgement *j)
{
	struct json_object *o = json_object_new_object();
	char text[SOURCE_MAX];

	json_add_text(o, "rule", j->rule->name);
	json_add_text(o, "section", j->rule->section);
	json_add_text(o, "text", j->rule->text);
	json_add_text(o, "severity", severity_name(j->rule->severity));
	json_add_text(o, "verdict", verdict_name(j->verdict));
	json_add_u64(o, "times", j->times);
	if (!j->times)
		return o;
	json_add_text(o, "scenario", j->result->scenario.id);
	json_add_text(o, "finding", source_text(s->run->args->driver, j->finding->text, text));
	add_repeat(o, s, j->result->scenario.id);
	json_object_object_add(o, "log", json_log(s, j->result));
	return o;
}

static struct json_object *json_rules(const struct summary *s)
{
	struct json_object *rules = json_object_new_array();
	size_t i;

	for (i = 0; i < s->count; i++)
		json_object_array_add(rules, json_rule(s, &s->judgements[i]));
	return rules;
}

static struct json_object *json_left(const struct summary *s)
{
	struct json_object *kinds = json_object_new_array(), *o;
	char kind[ROW_KIND_MAX];
	size_t i;

	for (i = 0; i < s->nr_left; i++) {
		row_kind(s->left[i].row, kind);
		o = json_object_new_object();
		json_add_text(o, "kind", kind);
		json_add_u64(o, "scenarios", s->left[i].left);
		json_object_object_add(o, "never", json_object_new_boolean(s->left[i].never));
		json_object_array_add(kinds, o);
	}
	return kinds;
}

static struct json_object *json_findings(const struct result *result)
{
	struct json_object *findings = json_object_new_array(), *o;
	size_t i;

	for (i = 0; i < result->nr_findings; i++) {
		o = json_object_new_object();
		json_add_text(o, "rule", result->findings[i].rule);
		json_add_text(o, "text", result->findings[i].text);
		json_object_array_add(findings, o);
	}
	return findings;
}

static struct json_object *json_scenario(const struct result *result)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "id", result->scenario.id);
	json_add_text(o, "keys", result->scenario.keys);
	json_add_text(o, "test", result->test);
	json_object_object_add(o, "fired", json_object_new_boolean(result->fired));
	json_object_object_add(o, "findings", json_findings(result));
	return o;
}

static struct json_object *json_scenarios(const struct results *results)
{
	struct json_object *scenarios = json_object_new_array();
	size_t i;

	for (i = 0; i < results->count; i++)
		if (results->at[i].ended)
			json_object_array_add(scenarios, json_scenario(&results->at[i]));
	return scenarios;
}

static void add_text_or_null(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, text ? json_text(text) : NULL);
}

static struct json_object *json_summary(const struct summary *s)
{
	struct json_object *o = json_output("peerpin-verify-1");
	const struct verify_args *args = s->run->args;

	json_add_text(o, "driver", args->driver);
	json_add_text(o, "test", args->test);
	json_add_text(o, "device", args->device);
	json_add_text(o, "nvidia", args->nvidia);
	add_text_or_null(o, "kernel", args->kernel);
	json_add_text(o, "level", args->level == LEVEL_FULL ? "full" : "quick");
	json_add_text(o, "verdict", summary_outcome(s));
	add_text_or_null(o, "headline", s->headline ? s->headline->rule->name : NULL);
	add_text_or_null(o, "stopped", summary_stop(s));
	json_add_u64(o, "milliseconds", (uint64_t)s->ms);
	json_object_object_add(o, "same_bytes", json_object_new_boolean(s->same_bytes));
	add_text_or_null(o, "refused", s->refused);
	json_object_object_add(o, "left", json_left(s));
	json_object_object_add(o, "rules", json_rules(s));
	json_object_object_add(o, "scenarios", json_scenarios(&s->run->results));
	return o;
}

void json_report(FILE *file, const struct summary *summary)
{
	struct json_object *o = json_summary(summary);

	fprintf(file, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
	json_object_put(o);
}
