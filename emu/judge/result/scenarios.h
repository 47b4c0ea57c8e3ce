/* SPDX-License-Identifier: MIT */
/*
 * A scenario is a run of the test program with at most one fault. Its id names the boot
 * and the fault: "plain" has no fault, "iommu/revoke-at-kernel-3" revokes memory at the
 * kernel's third event, in a VM with an IOMMU.
 */
#ifndef VERIFY_SCENARIOS_H
#define VERIFY_SCENARIOS_H

#include <stddef.h>
#include "args.h"
#include "recording.h"
#include "rows.h"

/* struct scenario - @keys: parameters for the guest, "kernel-event=3:revoke" */
struct scenario {
	char id[64];
	char keys[64];
	enum boot boot;
	unsigned int tries;
};

struct scenarios {
	struct scenario *at;
	size_t count;
};

/* Adds the scenarios that need no recording, all in one boot; the first one is recorded. */
void scenarios_before(struct scenarios *out, enum verify_level level);

/* Adds the others, boot by boot; those of a quick run come first. */
void scenarios_after(struct scenarios *out, enum verify_level level, const struct recording *recording);

/*
 * Adds the next scenarios that fail an allocation, after @done of them; none if enough
 * were tried. Stop calling when a scenario found no allocation to fail.
 */
void scenarios_alloc(struct scenarios *out, enum verify_level level, unsigned int done);

/* Returns 0, or -EINVAL: unknown id. */
int scenario_parse(const char *id, struct scenario *out);

void scenarios_free(struct scenarios *scenarios);

#endif
