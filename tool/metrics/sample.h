/* SPDX-License-Identifier: MIT */
/* peerpin metrics: the data of one scrape. */
#ifndef METRICS_SAMPLE_H
#define METRICS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "libpeerpin.h"
#include "tool/owners/counters.h"

enum {
	METRICS_GPUS = 64,
	METRICS_PEERS = 256,		/* peers beyond this number are not shown: this bounds the series */
	METRICS_PROVIDERS = 8,
};

/** struct metrics_pinned - the live regions of one provider */
struct metrics_pinned {
	char provider[16];
	uint64_t bytes;
	uint64_t regions;
};

/**
 * struct metrics_process - a process that holds pinned memory, has /dev/peerpin open, or publishes
 * @pid: 0: the sum over all processes that are not shown
 * @counted: @pins and @revoked are known
 * @publishes: @hits and @misses are known
 */
struct metrics_process {
	pid_t pid;
	char command[32];
	uint64_t bytes;
	size_t nr_pinned;
	struct metrics_pinned pinned[METRICS_PROVIDERS];
	bool counted;
	uint64_t pins;
	uint64_t revoked;
	bool publishes;
	uint64_t hits;
	uint64_t misses;
};

/**
 * struct metrics_sample - all data of one scrape
 * @loaded: the kernel module is loaded
 * @told_by_core: all processes could be read; else only processes of this user
 * @processes: at most the requested number, largest first; and one with pid 0 if some are left out
 * @nr_all: number of processes that were found
 */
struct metrics_sample {
	bool loaded;
	bool told_by_core;
	struct counters counters;
	unsigned int nr_gpus;
	struct pp_bar1 gpus[METRICS_GPUS];
	unsigned int gpu_index[METRICS_GPUS];
	uint64_t reserve;
	size_t nr_all;
	size_t nr_processes;
	struct metrics_process *processes;
};

/* @room: the largest number of processes that are shown one by one */
void metrics_take(struct metrics_sample *out, size_t room);
void metrics_free(struct metrics_sample *s);

/* For the tests: keep the @room largest processes, and make one process, with pid 0, of all others. */
void metrics_limit(struct metrics_sample *s, size_t room);

#endif
