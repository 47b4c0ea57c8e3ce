/* SPDX-License-Identifier: MIT */
/*
 * What is tried on a driver. A scenario is one run of the test program with one
 * thing different. Its id says which machine and what: "plain" is nothing,
 * "iommu/revoke-at-kernel-3" the third event of the kernel's side with an IOMMU.
 */
#ifndef VERIFY_SCENARIOS_H
#define VERIFY_SCENARIOS_H

#include <stddef.h>
#include "args.h"
#include "recording.h"
#include "rows.h"

/* struct scenario - @keys: as the guest has them, "kernel-event=3:revoke" */
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

/* Those that need no recording, in one boot; the first is the one to record. */
void scenarios_before(struct scenarios *out, enum verify_level level);

/* The others, boot by boot; of all of them those first that are quick too. */
void scenarios_after(struct scenarios *out, enum verify_level level, const struct recording *recording);

/*
 * The next of those that fail an allocation, after @done of them; none when
 * enough were tried. How many there are to fail is known when one did not.
 */
void scenarios_alloc(struct scenarios *out, enum verify_level level, unsigned int done);

/* -EINVAL: there is no such id. */
int scenario_parse(const char *id, struct scenario *out);

void scenarios_free(struct scenarios *scenarios);

#endif
