/* SPDX-License-Identifier: MIT */
/* The command line of peerpin perf. */
#ifndef PERF_ARGS_H
#define PERF_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PERF_SIZES = 64,
	PERF_PORT = 7473,	/* TCP; the RDMA connection uses the next port */
};

enum perf_format {
	PERF_TEXT,
	PERF_FULL,
	PERF_JSON,
	PERF_CSV,
};

/**
 * struct perf_args - the arguments
 * @sizes: in bytes, ascending
 * @repeat: maximum number of samples of a point
 * @seconds: time after which no further sample of a point is taken
 * @passes: number of times that all operations are measured; each pass gets its part of @repeat and @seconds
 * @only: NULL, or the names of groups, separated by commas
 * @peer: name of the peer device
 * @dir: directory of the file to copy; NULL: $TMPDIR or /var/tmp
 * @host: the second machine; NULL: none. With @serve: the address to listen at; NULL: all
 * @serve: serve another machine
 * @once: with @serve: end after the first machine
 * @from: show the result in this file, instead of measuring
 * @against: compare with the result in this file; NULL: do not compare
 * @noise: percent by which a median must exceed the earlier median to be reported as slower
 */
struct perf_args {
	uint64_t sizes[PERF_SIZES];
	size_t nr_sizes;
	uint64_t repeat;
	double seconds;
	uint64_t passes;
	const char *only;
	const char *peer;
	const char *dir;
	const char *host;
	uint64_t port;
	bool serve;
	bool once;
	enum perf_format format;
	const char *svg;
	const char *from;
	const char *against;
	uint64_t noise;
};

/* Returns 0, or EXIT_USAGE after printing the error. */
int parse_perf_args(int argc, char **argv, struct perf_args *out);

/* Parses "64,4K,1M" or "64-1G" (each size is four times the one before). False: neither. Sorts; no size comes twice. */
bool parse_sizes(const char *text, struct perf_args *out);

/* Is @group one of @args->only? */
bool perf_wants(const struct perf_args *args, const char *group);

#endif
