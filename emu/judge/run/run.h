/* SPDX-License-Identifier: MIT */
/* Runs all scenarios in a sequence of VMs, until a reason to stop (enum stop). */
#ifndef VERIFY_RUN_H
#define VERIFY_RUN_H

#include "place.h"
#include "progress.h"
#include "emu/judge/result/result.h"

enum stop {
	STOP_NONE,
	STOP_FIRST,		/* a finding, with --first */
	STOP_SIGNAL,
	STOP_TIME,		/* the time of a quick run is over */
	STOP_NOTHING,		/* the test pinned nothing, so nothing was tested */
	STOP_UNCALLED,		/* no call of the test on the driver's devices was seen */
	STOP_NOT_FIRED,		/* the fault of --only's scenario could not be injected */
	STOP_FAILED,		/* a VM did not start or did not run the guest; the error was printed */
};

/**
 * struct run - the state of a run
 * @plan: scenarios known so far
 * @planned: number of scenarios in @plan; 0: the recording is not made, so the plan is not known
 * @hung: number of successive VMs that hung before their first scenario; QEMU before version 8 may hang
 * @crashed: number of the result, from 1, in which QEMU crashed last; a second crash there is a finding
 * @faulted: bits of enum boot with an IOMMU fault before the first revocation
 */
struct run {
	const struct verify_args *args;
	struct place *place;
	struct results results;
	struct recording recording;
	struct scenarios plan;
	size_t planned;
	unsigned int hung;
	size_t crashed;
	unsigned int faulted;
	enum stop stop;
	struct progress progress;
};

/* Runs everything that the arguments request. Always call run_free() afterwards. */
void run_all(struct run *run, const struct verify_args *args, struct place *place);
void run_free(struct run *run);

/* Whether a planned scenario has not ended, although it might have found something */
bool run_left(const struct run *run, const struct scenario *scenario);

/* Why an ended scenario did not test the driver; STOP_NONE if the scenario did test the driver */
enum stop run_stop_of(const struct result *result);

#endif
