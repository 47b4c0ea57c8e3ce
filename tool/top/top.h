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
 * @publishes: it publishes hits and misses of its registration caches
 * @counted: totals by enum top_count; each source starts to count at its own time
 * @rate: of each total, per second; negative: not yet known
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

/** struct top_peer - @counted, @rate: by enum top_traffic, as in struct top_process */
struct top_peer {
	char name[64];
	uint64_t counted[TOP_TRAFFIC];
	double rate[TOP_TRAFFIC];
};

/**
 * struct top_sample - everything that top shows
 * @at_ns: time of the sample (monotonic)
 * @gpu_index: NVML index of each GPU
 * @reserve: bytes of each BAR1 that the driver keeps for itself
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
 * struct top_search - open files of other processes that top reads
 * @next_ns: time of the next search of /proc; the longer a search takes, the later
 * @pause_ns: minimum pause between samples if fdinfo is read, which is slow: it has a
 *	line for each region
 */
struct top_search {
	struct fds fds;
	uint64_t next_ns;
	uint64_t pause_ns;
};

/* ---- top_sample.c ---- */

/* Monotonic */
uint64_t top_clock_ns(void);

/** struct top - @now: with rates, from the second sample on */
struct top {
	struct top_search search;
	struct top_sample now;
};

/* Replaces @now by a new sample */
void top_next(struct top *t);

/* Time of the next sample: after the interval, or later if this sample took long */
uint64_t top_due_ns(const struct top *t, uint64_t interval_ns);
void top_end(struct top *t);

/* ---- top_rates.c ---- */

/* Sets the rates of @now from the difference to an earlier sample. */
void top_rates(const struct top_sample *before, struct top_sample *now);

#endif
