/* SPDX-License-Identifier: MIT */
/* peerpin top: the data of one sample. */
#ifndef TOP_H
#define TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "tool/owners/fds.h"
#include "libpeerpin.h"

enum {
	TOP_GPUS = 64,
	TOP_NOTES = 4,
};

enum top_count {
	TOP_PINS,
	TOP_REVOKED,
	TOP_HITS,
	TOP_MISSES,
	TOP_COUNTS,
};

enum top_traffic {
	TOP_TRANSFERS,
	TOP_BYTES,
	TOP_TRAFFIC,
};

/**
 * struct top_process - a process in a sample
 * @bytes, @regions: pinned now
 * @publishes: the process publishes hits and misses of its registration caches
 * @counted: totals, by enum top_count; the totals of the core and of a cache begin at different times
 * @rate: increase of each total per second; negative: not yet known
 */
struct top_process {
	pid_t pid;
	char command[32];
	uint64_t bytes;
	uint64_t regions;
	bool publishes;
	uint64_t counted[TOP_COUNTS];
	double rate[TOP_COUNTS];
};

/** struct top_peer - a peer device; @counted, @rate: as in struct top_process, by enum top_traffic */
struct top_peer {
	char name[64];
	uint64_t counted[TOP_TRAFFIC];
	double rate[TOP_TRAFFIC];
};

/**
 * struct top_sample - everything that top shows
 * @at_ns: time of the sample (monotonic)
 * @gpu_index: NVML index of each GPU
 * @reserve: bytes of each BAR1 that the driver reserves
 * @processes: sorted by pid
 * @notes: information that could not be read, and the command to type
 */
struct top_sample {
	uint64_t at_ns;
	unsigned int nr_gpus;
	struct pp_bar1 gpus[TOP_GPUS];
	unsigned int gpu_index[TOP_GPUS];
	uint64_t reserve;
	size_t nr_processes;
	struct top_process *processes;
	size_t nr_peers;
	struct top_peer *peers;
	unsigned int nr_notes;
	const char *notes[TOP_NOTES];
};

/**
 * struct top_search - the open files of other processes that top reads
 * @next_ns: time of the next search of /proc; a long search delays the next search
 * @pause_ns: minimum pause between samples without root, which must read fdinfo: that is
 *	slow, because fdinfo has a line for each region
 */
struct top_search {
	struct fds fds;
	uint64_t next_ns;
	uint64_t pause_ns;
};

/* ---- sample.c ---- */

/* The monotonic clock */
uint64_t top_clock_ns(void);

/** struct top - @now: the last sample; rates are known from the second sample on */
struct top {
	struct top_search search;
	struct top_sample now;
};

/* Replaces @now by a new sample. */
void top_next(struct top *t);

/* Time of the next sample: @interval_ns after the last sample, or later if that took long */
uint64_t top_due_ns(const struct top *t, uint64_t interval_ns);
void top_end(struct top *t);

/* ---- rates.c ---- */

/* Sets the rates in @now from the differences to the earlier sample @before. */
void top_rates(const struct top_sample *before, struct top_sample *now);

#endif
