/* SPDX-License-Identifier: MIT */
/* Memory for the operations of peerpin perf, and the objects of libpeerpin that they share. */
#ifndef PERF_MEMORY_H
#define PERF_MEMORY_H

#include "libpeerpin.h"
#include "op.h"

enum perf_kind {
	PERF_HOST,
	PERF_GPU,
};

/** struct perf_memory - @at: address; 0: none */
struct perf_memory {
	enum perf_kind kind;
	uint64_t at;
	uint64_t bytes;
};

/* At most a quarter of the free host memory, or half of the free GPU memory. Host memory is filled. */
int memory_get(struct perf_memory *m, enum perf_kind kind, uint64_t bytes, struct perf_why *why);
void memory_put(struct perf_memory *m);
void *memory_at(const struct perf_memory *m);

/* Loads CUDA. */
int perf_need_gpu(struct perf_why *why);

/* Opens /dev/peerpin. All operations share the context, which stays open. */
int perf_need_ctx(struct pp_ctx **out, struct perf_why *why);

/* Writes the sentence of pp_explain(). Returns -1. */
int perf_refuse_pin(struct perf_why *why, int error, const struct pp_why *reason);

/* Writes "CALL: error". Returns -1. */
int perf_refuse_call(struct perf_why *why, const char *call, int error);
int perf_refuse_cuda(struct perf_why *why, const char *call, int result);

#endif
