/* SPDX-License-Identifier: MIT */
/* The line on a terminal that says how far it is; and the clock. */
#ifndef VERIFY_PROGRESS_H
#define VERIFY_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* struct progress - @start_ms: of everything */
struct progress {
	bool on;
	long start_ms;
};

void progress_start(struct progress *progress);
long progress_ms(const struct progress *progress);

/* @planned: 0, not known yet */
void progress_show(const struct progress *progress, const char *id, size_t done, size_t planned, size_t found);

/* Takes the line away. */
void progress_clear(const struct progress *progress);

#endif
