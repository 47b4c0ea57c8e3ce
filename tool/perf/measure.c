// SPDX-License-Identifier: MIT
/*
 * Takes the samples. If one run of an operation without @before and @after is shorter than BATCH_NS, a sample is the
 * mean of a batch of runs, because reading the clock takes some tens of ns.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "op.h"
#include "tool/tool.h"
#include "tool/util/units.h"

enum {
	BATCH_NS = 5000,
	MAX_BATCH = 1000,
	LEAST_SAMPLES = 2,	/* in a pass */
	SLOW_NS = 1000000000,	/* one sample of such a run is enough */
	PATIENCE = 10,		/* a size is left out if one run is expected to take this many times --seconds */
	LEAST_PATIENCE_NS = 2000000000,
};

int perf_refuse(struct perf_why *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->at, sizeof(why->at), format, args);
	va_end(args);
	return -1;
}

int perf_skip(struct perf_why *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->at, sizeof(why->at), format, args);
	va_end(args);
	return 1;
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* ---- progress ---------------------------------------------------------------------------- */

static void show_progress(const char *progress, const struct perf_op *op, uint64_t bytes)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s %s, %s", progress, op->title, text_bytes(bytes).at);
}

static void hide_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* ---- one size ------------------------------------------------------------------------------ */

/** struct samples - the samples of one size; @most: limit of @count; @once: ns of the first run, which is not a sample */
struct samples {
	const struct perf_op *op;
	uint64_t bytes;
	double *at;
	size_t count, most;
	double once;
	unsigned int batch;
};

static int call(int (*function)(uint64_t, long, struct perf_why *), const struct samples *s, struct perf_why *why)
{
	return function ? function(s->bytes, s->op->arg, why) : 0;
}

/* Runs a batch. *ns: the mean time of an operation */
static int take(const struct samples *s, double *ns, struct perf_why *why)
{
	const struct perf_calls *c = s->op->calls;
	unsigned int i;
	double start;
	int ret = call(c->before, s, why);

	start = now_ns();
	for (i = 0; i < s->batch && !ret; i++)
		ret = c->run(s->bytes, s->op->arg, why);
	*ns = (now_ns() - start) / s->batch;
	if (c->times)
		*ns /= c->times(s->bytes, s->op->arg);
	return ret ? ret : call(c->after, s, why);
}

static void choose_batch(struct samples *s)
{
	if (s->op->calls->before || s->op->calls->after || s->once >= BATCH_NS)
		return;
	s->batch = (unsigned int)(BATCH_NS / (s->once < 1 ? 1 : s->once)) + 1;
	if (s->batch > MAX_BATCH)
		s->batch = MAX_BATCH;
}

static size_t samples_of_pass(const struct perf_args *args)
{
	return (args->repeat + args->passes - 1) / args->passes;
}

/* Samples for this pass. A pass takes --repeat / passes, rounded up, so the last passes may get fewer or none. */
static size_t samples_left(const struct perf_row *row, uint64_t bytes, const struct perf_args *args)
{
	const struct perf_point *point = perf_find_point(row, bytes);
	size_t left = args->repeat - (point ? point->count : 0);

	return left < samples_of_pass(args) ? left : samples_of_pass(args);
}

static int take_all(struct samples *s, const struct perf_args *args, struct perf_why *why)
{
	double end = now_ns() + args->seconds * 1e9 / (double)args->passes;
	int ret = take(s, &s->once, why);
	size_t least = s->once < SLOW_NS ? LEAST_SAMPLES : 1;

	if (!ret && s->once < SLOW_NS)
		ret = take(s, &s->once, why);	/* the first run also fills caches */
	choose_batch(s);
	while (!ret && s->count < s->most && (s->count < least || now_ns() < end)) {
		ret = take(s, &s->at[s->count], why);
		s->count += !ret;
	}
	return ret;
}

static int measure_size(struct samples *s, const struct perf_args *args, struct perf_row *row, struct perf_why *why)
{
	const struct perf_calls *c = s->op->calls;
	int ret = call(c->begin, s, why);

	if (!ret)
		ret = take_all(s, args, why);
	if (c->end)
		c->end(s->op->arg);
	if (ret)
		return ret;
	perf_add_samples(row, s->bytes, s->at, s->count);
	return 0;
}

/* ---- all sizes ------------------------------------------------------------------------------- */

/*
 * Extrapolates from the last two sizes, and not by bytes from one size: a small transfer takes most of its time
 * once, not for each byte. 0: unknown
 */
static double expected_ns(const struct perf_row *row, uint64_t bytes)
{
	const struct perf_point *last, *before;
	size_t i = 0;

	while (i < row->nr_points && row->points[i].bytes < bytes)
		i++;
	if (i < 2)
		return 0;
	last = &row->points[i - 1];
	before = last - 1;
	if (last->median <= before->median)
		return 0;
	return last->median + (last->median - before->median) / (double)(last->bytes - before->bytes) *
			      (double)(bytes - last->bytes);
}

static bool takes_too_long(const struct perf_row *row, uint64_t bytes, const struct perf_args *args)
{
	double most = args->seconds * 1e9 * PATIENCE;

	if (most < LEAST_PATIENCE_NS)
		most = LEAST_PATIENCE_NS;
	return expected_ns(row, bytes) > most;
}

/* *failed: the size to which @why belongs; 0: all sizes were measured */
static void measure_sizes(struct samples *s, const struct perf_args *args, const char *progress, struct perf_row *row,
			  uint64_t *failed, struct perf_why *why)
{
	struct perf_why now;
	int ret = 0;
	size_t i;

	for (i = 0; i < args->nr_sizes && ret >= 0; i++) {
		if (takes_too_long(row, args->sizes[i], args)) {
			ret = perf_refuse(&now, "a run of this size would take seconds; give a larger --seconds");
		} else {
			show_progress(progress, s->op, args->sizes[i]);
			*s = (struct samples){ .op = s->op, .bytes = args->sizes[i], .at = s->at, .batch = 1,
					       .most = samples_left(row, args->sizes[i], args) };
			ret = s->most ? measure_size(s, args, row, &now) : 0;
		}
		if (!ret)
			continue;
		*failed = args->sizes[i];
		*why = now;
	}
}

static void say_why(struct perf_row *row, const struct perf_why *why, uint64_t bytes)
{
	if (!row->nr_points)
		snprintf(row->why, sizeof(row->why), "%s", why->at);
	else if (bytes < row->points[0].bytes)
		snprintf(row->why, sizeof(row->why), "not below %s: %.200s", text_bytes(row->points[0].bytes).at, why->at);
	else
		snprintf(row->why, sizeof(row->why), "not at %s: %.200s", text_bytes(bytes).at, why->at);
}

static struct perf_row *row_of(const struct perf_op *op, struct perf_result *out)
{
	struct perf_row *row;
	size_t i;

	for (i = 0; i < out->nr_rows; i++)
		if (!strcmp(out->rows[i].name, op->name))
			return &out->rows[i];
	row = perf_add_row(out, op->name);
	snprintf(row->group, sizeof(row->group), "%s", op->group);
	snprintf(row->title, sizeof(row->title), "%s", op->title);
	snprintf(row->beside, sizeof(row->beside), "%s", op->beside ? op->beside : "");
	row->rate = op->rate;
	return row;
}

void perf_measure(const struct perf_op *op, const struct perf_args *args, const char *progress, struct perf_result *out)
{
	struct samples s = { .op = op, .at = calloc(samples_of_pass(args), sizeof(*s.at)) };
	struct perf_row *row = row_of(op, out);
	struct perf_why why = { "" };
	uint64_t failed = 0;

	if (!s.at)
		no_memory();
	if (op->calls->open && op->calls->open(args, op->arg, &why))
		failed = args->sizes[0];
	else
		measure_sizes(&s, args, progress, row, &failed, &why);
	if (failed)
		say_why(row, &why, failed);
	if (op->calls->close)
		op->calls->close(op->arg);
	hide_progress();
	free(s.at);
}
