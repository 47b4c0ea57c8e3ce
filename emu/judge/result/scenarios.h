/* SPDX-License-Identifier: MIT */
/*
 * A scenario is a run of the test program with at most one fault. The scenario's id names
 * the boot and the fault. "plain" has no fault. "iommu/revoke-at-kernel-3" revokes memory
 * at the driver's third event, in a VM with an IOMMU.
 */
#ifndef VERIFY_SCENARIOS_H
#define VERIFY_SCENARIOS_H

#include <stdbool.h>
#include <stddef.h>
#include "args.h"
#include "recording.h"
#include "rows.h"

/**
 * struct scenario
 * @row: its kind
 * @keys: keys for the guest's plan, e.g. "kernel-event=3:revoke"
 * @tries: bits of enum tries
 * @first: a quick run tries this scenario even if its usual time is over
 */
struct scenario {
	const struct row *row;
	char id[64];
	char keys[64];
	enum boot boot;
	unsigned int tries;
	bool first;
};

struct scenarios {
	struct scenario *at;
	size_t count;
};

/* Adds the scenarios that need no recording, all for one boot. The first of these scenarios makes the recording. */
void scenarios_before(struct scenarios *out);

/*
 * Adds the scenarios that need @recording, boot by boot: first some of each kind, then the rest of a quick run, then
 * the rest of a full run. Adds no scenario that @out has already.
 */
void scenarios_after(struct scenarios *out, enum verify_level level, const struct recording *recording);

/*
 * Adds the next scenarios that fail an allocation, after those of scenarios_after(). @done: number of such scenarios
 * that ran. Adds none after enough of them ran. Stop calling after a scenario found no allocation to fail.
 */
void scenarios_alloc(struct scenarios *out, enum verify_level level, unsigned int done);

/* Returns 0, or -EINVAL if the id is unknown. */
int scenario_parse(const char *id, struct scenario *out);

void scenarios_free(struct scenarios *scenarios);

#endif
