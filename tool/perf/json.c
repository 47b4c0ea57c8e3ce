// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include "report.h"
#include "tool/tool.h"
#include "tool/util/json.h"
#include "tool/util/printable.h"

static const char schema[] = "peerpin-perf-1";

enum {
	MAX_ROWS = 1000,
	MAX_POINTS = 1000,
};

/* ---- writing ----------------------------------------------------------------------------- */

static void add_ns(struct json_object *o, const char *key, double ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%.1f", ns);
	json_object_object_add(o, key, json_object_new_double_s(ns, text));
}

static struct json_object *json_point(const struct perf_row *row, const struct perf_point *p)
{
	struct json_object *o = json_object_new_object();
	char rate[40];

	json_add_u64(o, "bytes", p->bytes);
	json_add_u64(o, "samples", p->count);
	add_ns(o, "p1_ns", p->p1);
	add_ns(o, "median_ns", p->median);
	add_ns(o, "p99_ns", p->p99);
	add_ns(o, "noise_ns", p->noise);
	if (row->rate) {
		snprintf(rate, sizeof(rate), "%.6f", perf_rate(p));
		json_object_object_add(o, "gb_per_s", json_object_new_double_s(perf_rate(p), rate));
	}
	return o;
}

static struct json_object *json_row(const struct perf_row *row)
{
	struct json_object *o = json_object_new_object(), *points = json_object_new_array();
	size_t i;

	json_add_text(o, "name", row->name);
	json_add_text(o, "group", row->group);
	json_add_text(o, "title", row->title);
	json_object_object_add(o, "beside", *row->beside ? json_text(row->beside) : NULL);
	json_object_object_add(o, "rate", json_object_new_boolean(row->rate));
	json_object_object_add(o, "why", *row->why ? json_text(row->why) : NULL);
	for (i = 0; i < row->nr_points; i++)
		json_object_array_add(points, json_point(row, &row->points[i]));
	json_object_object_add(o, "points", points);
	return o;
}

void perf_print_json(const struct perf_result *r)
{
	struct json_object *o = json_output(schema), *facts = json_object_new_object();
	struct json_object *rows = json_object_new_array();
	size_t i;

	for (i = 0; i < r->nr_facts; i++)
		json_add_text(facts, r->facts[i].name, r->facts[i].value);
	for (i = 0; i < r->nr_rows; i++)
		json_object_array_add(rows, json_row(&r->rows[i]));
	json_object_object_add(o, "machine", facts);
	json_object_object_add(o, "rows", rows);
	json_print(o);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void get_text(struct json_object *o, const char *key, char *out, size_t room)
{
	struct json_object *value = json_object_object_get(o, key);

	snprintf(out, room, "%s", value && json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "");
	make_printable(out);
}

/* The number @key; below 0 if there is none, or it is no finite number */
static double get_number(struct json_object *o, const char *key)
{
	struct json_object *value = json_object_object_get(o, key);
	double number;

	if (!value || !(json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double)))
		return -1;
	number = json_object_get_double(value);
	return number >= 0 && number < 1e300 ? number : -1;
}

static bool parse_point(struct json_object *o, struct perf_row *row)
{
	struct perf_point p = {
		.p1 = get_number(o, "p1_ns"), .median = get_number(o, "median_ns"), .p99 = get_number(o, "p99_ns"),
		.noise = get_number(o, "noise_ns"),
	};
	double bytes = get_number(o, "bytes"), count = get_number(o, "samples");

	if (bytes < 1 || bytes >= 0x1p63 || count < 1 || count >= 0x1p63 || p.p1 < 0 || p.median <= 0 || p.p99 < 0 ||
	    p.noise < 0)
		return false;
	p.bytes = (uint64_t)bytes;
	p.count = (uint64_t)count;
	perf_add_point(row, &p);
	return true;
}

static bool parse_points(struct json_object *points, struct perf_row *row)
{
	size_t i;

	if (!json_object_is_type(points, json_type_array) || json_object_array_length(points) > MAX_POINTS)
		return false;
	for (i = 0; i < json_object_array_length(points); i++)
		if (!parse_point(json_object_array_get_idx(points, i), row))
			return false;
	return true;
}

static bool parse_row(struct json_object *o, struct perf_result *out)
{
	struct json_object *rate, *points;
	char name[sizeof(out->rows->name)];
	struct perf_row *row;

	if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, "points", &points))
		return false;
	get_text(o, "name", name, sizeof(name));
	if (!*name || perf_find_row(out, name))
		return false;
	row = perf_add_row(out, name);
	get_text(o, "group", row->group, sizeof(row->group));
	get_text(o, "title", row->title, sizeof(row->title));
	get_text(o, "beside", row->beside, sizeof(row->beside));
	get_text(o, "why", row->why, sizeof(row->why));
	row->rate = json_object_object_get_ex(o, "rate", &rate) && json_object_get_boolean(rate);
	return parse_points(points, row);
}

static void parse_facts(struct json_object *facts, struct perf_result *out)
{
	if (!json_object_is_type(facts, json_type_object))
		return;
	json_object_object_foreach(facts, key, value) {
		perf_add_fact(out, key, "%s", json_object_get_string(value));
		make_printable(out->facts[out->nr_facts - 1].name);
	}
}

const char *perf_parse(struct json_object *o, struct perf_result *out)
{
	struct json_object *facts, *rows;
	char found[32] = "";
	size_t i;

	*out = (struct perf_result){ 0 };
	if (!o || !json_object_is_type(o, json_type_object))
		return "it is no JSON object";
	get_text(o, "schema", found, sizeof(found));
	if (strcmp(found, schema))
		return "its schema is not peerpin-perf-1";
	if (json_object_object_get_ex(o, "machine", &facts))
		parse_facts(facts, out);
	if (!json_object_object_get_ex(o, "rows", &rows) || !json_object_is_type(rows, json_type_array) ||
	    json_object_array_length(rows) > MAX_ROWS)
		return "it has no rows";
	for (i = 0; i < json_object_array_length(rows); i++)
		if (!parse_row(json_object_array_get_idx(rows, i), out))
			return "one of its rows is broken";
	return NULL;
}

int perf_read(const char *path, struct perf_result *out)
{
	struct json_object *o;
	const char *wrong;

	*out = (struct perf_result){ 0 };
	errno = 0;
	o = json_object_from_file(path);
	if (!o && errno) {
		fail("%s cannot be read: %s; give the output of: peerpin perf --json", path, strerror(errno));
		return EXIT_USAGE;
	}
	wrong = perf_parse(o, out);
	json_object_put(o);
	if (!wrong)
		return 0;
	perf_free(out);
	fail("%s: %s; give the output of: peerpin perf --json", path, wrong);
	return EXIT_USAGE;
}
