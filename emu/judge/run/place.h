/* SPDX-License-Identifier: MIT */
/* Where things are: the tree whose emu/vm/run boots, and a directory of our own. */
#ifndef VERIFY_PLACE_H
#define VERIFY_PLACE_H

#include <limits.h>
#include "emu/judge/result/args.h"

/**
 * struct place
 * @root: $PEERPIN_ROOT, or the source tree that this program was built in, or what peerpin-emu makes
 * @run: its emu/vm/run
 * @guest: what runs the scenarios in the machine
 * @driver, @test: as full paths; behind the driver's are its parameters
 * @dir: is removed at the end
 * @shared: a directory in it that the machine may write to, and so may whatever is under test; each has its own,
 *          since what it leaves there may be anything, a link to any file of ours
 * @plan: a file there, for the guest
 * @log, @complaints: files in @dir, from emu/vm/run
 */
struct place {
	char root[PATH_MAX];
	char run[PATH_MAX];
	char guest[PATH_MAX];
	char driver[PATH_MAX];
	char test[PATH_MAX];
	char dir[PATH_MAX];
	char shared[PATH_MAX];
	char plan[PATH_MAX];
	char log[PATH_MAX];
	char complaints[PATH_MAX];
};

/* 0, or EXIT_USAGE after the complaint has been printed. */
int place_open(struct place *place, const struct verify_args *args);

/* Before each machine: sets @shared and @plan. 0, or EXIT_USAGE after the complaint has been printed. */
int place_share(struct place *place);

void place_close(const struct place *place);

#endif
