/* SPDX-License-Identifier: MIT */
/* Measurements on a real GPU, without a kernel module; each part prints Markdown. */
#ifndef BENCH_H200_H
#define BENCH_H200_H

#include <cuda.h>
#include <libpeerpin.h>
#include "bench/bench.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

void part_about(void);
void part_query(void);
void part_hit(void);
void part_pin(void);
void part_sync_memops(void);
void part_bar1(void);
void part_flush(void);
void part_free_nothing(void);
void part_free_told(void);

/* Exit and print @what if a call of CUDA or peerpin failed. */
#define NEED(call) \
	do { \
		int got_ = (call); \
		if (got_) \
			fail(got_, #call); \
	} while (0)
void fail(int result, const char *what) __attribute__((noreturn, cold));

/* Picoseconds per call: the median of ROUNDS calls of @fn, which makes CALLS measured calls */
enum { CALLS = 2000, ROUNDS = 51 };
uint64_t each(void (*fn)(void *arg), void *arg);

/* "| what | 12.3 ns | " for a figure in picoseconds */
void row(const char *what, uint64_t ps);

/* "64 KiB" */
const char *size_name(size_t bytes);

CUdeviceptr allocate(size_t bytes);
struct pp_cache *dmabuf_cache(uint32_t watch);

/* Get and put CALLS times; @arg is a struct hot */
struct hot {
	struct pp_cache *cache;
	void *at;
	size_t length;
};
void get_and_put(void *arg);

#endif
