/* SPDX-License-Identifier: MIT */
/* peerpin top: what there is to see at one moment. */
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
 * struct top_process - see above
 * @publishes: else it has no hits and misses to show
 * @counted: by enum top_count, since some moment of its own
 * @rate: of each, a second; negative: not known yet
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

/** struct top_peer - @counted, @rate: by enum top_traffic, as a process's */
struct top_peer {
	char name[64];
	uint64_t counted[TOP_TRAFFIC];
	double rate[TOP_TRAFFIC];
};

/**
 * struct top_sample - see above
 * @at_ns: when it was made (monotonic)
 * @gpu_index: of each GPU, as NVML counts them
 * @reserve: bytes of each BAR1 that pins cannot have
 * @processes: by pid
 * @notes: what could not be seen, and what to type
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
 * struct top_search - files of other processes that are worth reading
 * @next_ns: when to look again; seldom where that takes long
 * @pause_ns: how long not to read again what takes long: fdinfo, which tells of
 *	each region
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

/* Another sample in place of @now */
void top_next(struct top *t);

/* When to make the next: after an interval, or later if this one took long */
uint64_t top_due_ns(const struct top *t, uint64_t interval_ns);
void top_end(struct top *t);

/* ---- top_rates.c ---- */

/* Set the rates of @now, by an earlier sample. */
void top_rates(const struct top_sample *before, struct top_sample *now);

#endif
