// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "file_result.h"
#include "tool/util/json.h"
#include "tool/util/units.h"

enum {
	MAX_LINES = 10,		/* if there are more copies, print only the summary */
};

static int by_time(const void *a, const void *b)
{
	const struct pp_file_result *x = a, *y = b;

	return (x->total_ns > y->total_ns) - (x->total_ns < y->total_ns);
}

void warn_of_bounce(const struct pp_file_result *r)
{
	if (!r->bounced)
		return;
	fprintf(stderr, "peerpin: warning: %s of %s went through host memory: %s%s%s; type: man peerpin\n",
		text_bytes(r->bounced).at, text_bytes(r->direct + r->bounced).at, pp_file_strreason(r->reason),
		r->error ? ": " : "", r->error ? strerror(-r->error) : "");
}

static const char *side_name(const struct copy_args *args, enum side side)
{
	return side == SIDE_GPU ? "gpu" : args->path;
}

/* ---- text output ------------------------------------------------------------- */

static void print_copy(size_t nr, const struct pp_file_result *r)
{
	printf("copy %-4zu %10s  %10s  direct %s  bounced %s\n", nr, text_time(r->total_ns).at,
	       text_rate(r->direct + r->bounced, r->total_ns).at, text_bytes(r->direct).at,
	       text_bytes(r->bounced).at);
}

static void print_line(const char *name, uint64_t bytes, uint64_t ns)
{
	printf("%-9s %10s  %10s\n", name, text_time(ns).at, text_rate(bytes, ns).at);
}

static void print_spread(const struct copy_args *args, struct pp_file_result *r)
{
	qsort(r, args->repeat, sizeof(*r), by_time);
	print_line("min", args->size, r[0].total_ns);
	print_line("median", args->size, r[args->repeat / 2].total_ns);
	print_line("max", args->size, r[args->repeat - 1].total_ns);
}

static void print_text(const struct copy_args *args, struct pp_file_result *r)
{
	size_t i;

	printf("%s from %s to %s\n", text_bytes(args->size).at, side_name(args, args->from),
	       side_name(args, args->to));
	if (args->repeat <= MAX_LINES)
		for (i = 0; i < args->repeat; i++)
			print_copy(i + 1, &r[i]);
	if (args->repeat > 1)
		print_spread(args, r);
	if (args->verify)
		puts("verified: every byte");
}

/* ---- JSON output --------------------------------------------------------------- */

static struct json_object *json_copy(const struct pp_file_result *r)
{
	struct json_object *o = json_object_new_object();

	json_add_u64(o, "total_ns", r->total_ns);
	json_add_u64(o, "direct", r->direct);
	json_add_u64(o, "bounced", r->bounced);
	if (r->bounced)
		json_add_text(o, "reason", pp_file_strreason(r->reason));
	return o;
}

static void print_json(const struct copy_args *args, struct pp_file_result *r)
{
	struct json_object *o = json_output("peerpin-copy-1");
	struct json_object *copies = json_object_new_array();
	size_t i;

	for (i = 0; i < args->repeat; i++)
		json_object_array_add(copies, json_copy(&r[i]));
	json_add_text(o, "from", side_name(args, args->from));
	json_add_text(o, "to", side_name(args, args->to));
	json_add_u64(o, "bytes", args->size);
	json_object_object_add(o, "verified", json_object_new_boolean(args->verify));
	qsort(r, args->repeat, sizeof(*r), by_time);
	json_add_u64(o, "min_ns", r[0].total_ns);
	json_add_u64(o, "median_ns", r[args->repeat / 2].total_ns);
	json_add_u64(o, "max_ns", r[args->repeat - 1].total_ns);
	json_object_object_add(o, "copies", copies);
	json_print(o);
}

void print_file_results(const struct copy_args *args, struct pp_file_result *results)
{
	if (args->json)
		print_json(args, results);
	else
		print_text(args, results);
}
