/* SPDX-License-Identifier: MIT */
/* Operations that peerpin perf measures. */
#ifndef PERF_OP_H
#define PERF_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "args.h"
#include "result.h"

/** struct perf_why - why something cannot be measured here: a sentence */
struct perf_why {
	char at[PERF_WHY];
};

/* Writes the sentence. Returns -1. */
__attribute__((format(printf, 2, 3)))
int perf_refuse(struct perf_why *why, const char *format, ...);

/* As perf_refuse(), but only this size cannot be measured. Returns 1. */
__attribute__((format(printf, 2, 3)))
int perf_skip(struct perf_why *why, const char *format, ...);

/**
 * struct perf_calls - how an operation is measured; a function that is NULL does nothing
 * @open: once, before all sizes
 * @begin: before the samples of one size
 * @before, @after: around each sample, not measured
 * @run: the sample
 * @times: number of operations in one @run; NULL: one
 * @end: after the samples of one size; also if @begin has failed
 * @close: once, after all sizes; also if @open has failed
 *
 * @arg is that of the operation. A call that fails fills @why, and returns -1, or 1 if larger sizes may work. One
 * operation runs at a time, so the state of a set of calls is static in its file.
 */
struct perf_calls {
	int (*open)(const struct perf_args *args, long arg, struct perf_why *why);
	int (*begin)(uint64_t bytes, long arg, struct perf_why *why);
	int (*before)(uint64_t bytes, long arg, struct perf_why *why);
	int (*run)(uint64_t bytes, long arg, struct perf_why *why);
	int (*after)(uint64_t bytes, long arg, struct perf_why *why);
	unsigned int (*times)(uint64_t bytes, long arg);
	void (*end)(long arg);
	void (*close)(long arg);
};

/** struct perf_op - an operation. The texts are as in struct perf_row; @beside: NULL: none */
struct perf_op {
	const char *name;
	const char *group;
	const char *title;
	const char *beside;
	bool rate;
	const struct perf_calls *calls;
	long arg;
};

/* All groups, separated by ", " */
extern const char perf_groups[];
bool perf_is_group(const char *name);

/* The table of each file ends with an element without a name. The functions return such a table. */
extern const struct perf_op pin_ops[];
extern const struct perf_op cache_ops[];
extern const struct perf_op dmabuf_ops[];
extern const struct perf_op copy_ops[];
extern const struct perf_op file_ops[];
extern const struct perf_op rdma_ops[];
const struct perf_op *cpu_ops(void);

/*
 * Measures @op at all sizes, in one of @args->passes passes, and adds the samples to the row of @op, which may be new.
 * Shows the progress on a terminal.
 */
void perf_measure(const struct perf_op *op, const struct perf_args *args, const char *progress, struct perf_result *out);

#endif
