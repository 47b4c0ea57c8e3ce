/* SPDX-License-Identifier: MIT */
/* Runs scenarios, machine after machine, until all are done or there is a reason to stop. */
#ifndef VERIFY_RUN_H
#define VERIFY_RUN_H

#include "place.h"
#include "progress.h"
#include "emu/judge/result/result.h"

enum stop {
	STOP_NONE,
	STOP_FIRST,		/* --first, and something was found */
	STOP_SIGNAL,
	STOP_TIME,		/* a quick run takes no longer */
	STOP_NOTHING,		/* the test has pinned nothing, and so tries nothing */
	STOP_UNCALLED,		/* nor has it called the driver, as far as can be seen */
	STOP_NOT_FIRED,		/* what --only's scenario was to do could not be done */
	STOP_FAILED,		/* no machine, or none that runs the guest; the complaint was printed */
};

/**
 * struct run
 * @planned: scenarios known so far
 * @hung: machines in a row that hung before they began; QEMU before 8 does so now and then
 * @crashed: results there were when QEMU crashed last, with that of the scenario it was on
 * @faulted: bits of enum boot: the IOMMU had to stop the device there with nothing done to it
 * @left: bits of enum tries: of scenarios that were not run to their end; all before it is known what there is
 */
struct run {
	const struct verify_args *args;
	struct place *place;
	struct results results;
	struct recording recording;
	size_t planned;
	unsigned int hung;
	size_t crashed;
	unsigned int faulted;
	unsigned int left;
	enum stop stop;
	struct progress progress;
};

/* Everything the arguments ask for. run_free() afterwards, whatever came of it. */
void run_all(struct run *run, const struct verify_args *args, struct place *place);
void run_free(struct run *run);

/* Why a scenario that has ended says nothing of the driver; STOP_NONE: it does. */
enum stop run_stop_of(const struct result *result);

#endif
