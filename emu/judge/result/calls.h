/* SPDX-License-Identifier: MIT */
/* The recorded calls of one side in order, each with its kind (event_is_like()). n calls take n log n steps. */
#ifndef VERIFY_CALLS_H
#define VERIFY_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include "recording.h"

/**
 * struct kind - the calls of one kind
 * @count: number of calls
 * @nr_long: number of long calls, which probably transfer data
 * @first: number of the first call, and @last of the last one
 * @transfers: the calls may transfer data
 * @rank: number of kinds with @transfers that have more calls, or as many and come first
 */
struct kind {
	unsigned int count;
	unsigned int nr_long;
	unsigned int first;
	unsigned int last;
	unsigned int rank;
	bool transfers;
};

/**
 * struct call
 * @kind: its kind, in @kinds of struct calls
 * @is_long: the call may transfer data, and takes long enough to wait for DMA
 * @nth: number of long calls of its kind before this call
 */
struct call {
	const struct event *event;
	struct kind *kind;
	unsigned int nth;
	bool is_long;
};

struct calls {
	struct call *at;
	size_t count;
	struct kind *kinds;
	size_t nr_kinds;
	unsigned int nr_long;
};

/*
 * Takes the events 1, 2 and so on of @side, up to the first missing number. They point into @recording, which must not
 * change before calls_free().
 */
void calls_make(struct calls *out, const struct recording *recording, enum event_side side);
void calls_free(struct calls *calls);

/* Whether the call is the first or the last one of its kind */
bool call_is_end(const struct call *call);

#endif
