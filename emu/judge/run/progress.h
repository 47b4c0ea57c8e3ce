/* SPDX-License-Identifier: MIT */
/* The progress line on a terminal, and the time since the start. */
#ifndef VERIFY_PROGRESS_H
#define VERIFY_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* struct progress - @on: show the line; @start_ms: time at which verify started */
struct progress {
	bool on;
	long start_ms;
};

void progress_start(struct progress *progress);
long progress_ms(const struct progress *progress);

/* @planned: number of scenarios; 0: not yet known */
void progress_show(const struct progress *progress, const char *id, size_t done, size_t planned, size_t found);

/* Erases the line. */
void progress_clear(const struct progress *progress);

#endif
