/* SPDX-License-Identifier: MIT */
/* The outputs of peerpin perf. */
#ifndef PERF_REPORT_H
#define PERF_REPORT_H

#include <json-c/json.h>
#include <stdio.h>
#include "result.h"

/** struct perf_text - a formatted number, returned by value */
struct perf_text {
	char at[24];
};

/* "64", "4K", "1.5M" */
struct perf_text perf_size_text(uint64_t bytes);

/* Three digits: "5.43us" */
struct perf_text perf_time_text(double ns);

/* One page: each row at its smallest and at its largest size, beside the row of its baseline. */
void perf_print_page(const struct perf_result *r);

/* All sizes */
void perf_print_full(const struct perf_result *r);
void perf_print_csv(const struct perf_result *r);
void perf_print_json(const struct perf_result *r);

/* Returns 0, or EXIT_FAILED after printing the error. */
int perf_write_svg(const struct perf_result *r, const char *path);

/* Reads the file that --json has written. Returns 0, or EXIT_USAGE after printing the error. */
int perf_read(const char *path, struct perf_result *out);

/* Parses the JSON of --json. Returns NULL, or the reason why @o is no such JSON. */
const char *perf_parse(struct json_object *o, struct perf_result *out);

/**
 * perf_compare - print what is slower, and what is no longer measured
 * @percent: a median must differ by more than this, and by more than the noise of both runs
 *
 * Prints to @f. Returns the number of points that are slower and of rows that are no longer measured.
 */
size_t perf_compare(FILE *f, const struct perf_result *now, const struct perf_result *before, const char *name,
		    double percent);

#endif
