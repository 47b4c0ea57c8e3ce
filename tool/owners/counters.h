/* SPDX-License-Identifier: MIT */
/* The core's counters over all processes and devices, which all users can read: /proc/driver/peerpin. */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** enum counter - a line of the file: peerpin(4) */
enum counter {
	COUNTER_BYTES,
	COUNTER_REGIONS,
	COUNTER_PINS,
	COUNTER_REFUSED,
	COUNTER_REVOKED,
	COUNTER_TIMEOUTS,
	COUNTER_OVERSTAYS,
	COUNTER_WATCHES,
	COUNTER_WATCHES_CHANGED,
	COUNTER_TRANSFERS,
	COUNTER_TRANSFER_BYTES,
	COUNTERS,
};

enum peer_counter {
	PEER_TRANSFERS,
	PEER_BYTES,
	PEER_TIMEOUTS,
	PEER_COUNTERS,
};

/** struct peer_counters - a registered peer */
struct peer_counters {
	char name[64];
	uint64_t value[PEER_COUNTERS];
};

/** struct counters - @known: the file has this line; @value: 0 if not @known */
struct counters {
	bool known[COUNTERS];
	uint64_t value[COUNTERS];
	size_t nr_peers;
	struct peer_counters *peers;
};

/* Parses the file. Unknown lines of newer modules are skipped. */
void counters_parse(FILE *f, struct counters *out);

/* Reads the file. Returns 0, or -ENOENT: the module is not loaded, or has no such file. On failure *out is empty. */
int counters_read(struct counters *out);

void counters_free(struct counters *c);

#endif
