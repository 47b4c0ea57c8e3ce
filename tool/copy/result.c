// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tool/util/json.h"
#include "result.h"
#include "tool/util/units.h"

enum {
	MAX_LINES = 10,		/* if there are more copies, print only the summary */
};

/** struct spread - minimum, median and maximum of the times of all copies, in ns */
struct spread {
	uint64_t min;
	uint64_t median;
	uint64_t max;
};

static const char *side_name(enum side side)
{
	return side == SIDE_GPU ? "gpu" : "host";
}

static int by_time(const void *a, const void *b)
{
	const struct pp_copy_result *x = a, *y = b;

	return (x->total_ns > y->total_ns) - (x->total_ns < y->total_ns);
}

/* Sorts @r by time, so print the single copies before calling this. */
static struct spread spread_of(struct pp_copy_result *r, size_t count)
{
	qsort(r, count, sizeof(*r), by_time);
	return (struct spread) {
		r[0].total_ns, r[count / 2].total_ns, r[count - 1].total_ns,
	};
}

/* ---- text output ------------------------------------------------------------- */

static void print_copy(size_t nr, const struct pp_copy_result *r)
{
	printf("copy %-4zu %10s  %10s  engine %s  pins %u", nr,
	       text_time(r->total_ns).at,
	       text_rate(r->bytes, r->total_ns).at,
	       text_time(r->engine_ns).at, r->pins);
	if (r->pins)
		printf(" (%s)", text_time(r->pin_ns).at);
	putchar('\n');
}

static uint64_t pins_of(const struct pp_copy_result *r, size_t count)
{
	uint64_t pins = 0;

	while (count--)
		pins += r[count].pins;
	return pins;
}

static void print_spread(const struct copy_args *args,
			 struct pp_copy_result *r)
{
	struct spread s = spread_of(r, args->repeat);

	printf("min       %10s  %10s\n", text_time(s.min).at,
	       text_rate(args->size, s.min).at);
	printf("median    %10s  %10s\n", text_time(s.median).at,
	       text_rate(args->size, s.median).at);
	printf("max       %10s  %10s\n", text_time(s.max).at,
	       text_rate(args->size, s.max).at);
	printf("pins per copy %.2f\n",
	       (double)pins_of(r, args->repeat) / (double)args->repeat);
}

static void print_text(const struct copy_args *args, struct pp_copy_result *r)
{
	size_t i;

	printf("%s copies %s from %s to %s\n", args->peer,
	       text_bytes(args->size).at, side_name(args->from),
	       side_name(args->to));
	if (args->repeat <= MAX_LINES)
		for (i = 0; i < args->repeat; i++)
			print_copy(i + 1, &r[i]);
	if (args->repeat > 1)
		print_spread(args, r);
	if (args->verify)
		puts("verified: every byte, and the red zones around the destination");
}

/* ---- JSON output --------------------------------------------------------------- */

static struct json_object *json_copy(const struct pp_copy_result *r)
{
	struct json_object *o = json_object_new_object();

	json_add_u64(o, "total_ns", r->total_ns);
	json_add_u64(o, "engine_ns", r->engine_ns);
	json_add_u64(o, "pins", r->pins);
	json_add_u64(o, "pin_ns", r->pin_ns);
	return o;
}

static void add_spread(struct json_object *o, const struct spread *s)
{
	json_add_u64(o, "min_ns", s->min);
	json_add_u64(o, "median_ns", s->median);
	json_add_u64(o, "max_ns", s->max);
}

static struct json_object *json_copies(const struct pp_copy_result *r,
				       size_t count)
{
	struct json_object *copies = json_object_new_array();
	size_t i;

	for (i = 0; i < count; i++)
		json_object_array_add(copies, json_copy(&r[i]));
	return copies;
}

static void print_json(const struct copy_args *args, struct pp_copy_result *r)
{
	struct json_object *o = json_output("peerpin-copy-1");
	struct json_object *copies = json_copies(r, args->repeat);
	struct spread s = spread_of(r, args->repeat);

	json_add_text(o, "peer", args->peer);
	json_add_text(o, "from", side_name(args->from));
	json_add_text(o, "to", side_name(args->to));
	json_add_u64(o, "bytes", args->size);
	json_object_object_add(o, "verified",
			       json_object_new_boolean(args->verify));
	add_spread(o, &s);
	json_object_object_add(o, "copies", copies);
	json_print(o);
}

void print_results(const struct copy_args *args,
		   struct pp_copy_result *results)
{
	if (args->json)
		print_json(args, results);
	else
		print_text(args, results);
}
