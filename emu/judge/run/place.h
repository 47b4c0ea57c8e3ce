/* SPDX-License-Identifier: MIT */
/* Paths: the tree with emu/vm/run, the driver and the test, and a temporary directory. */
#ifndef VERIFY_PLACE_H
#define VERIFY_PLACE_H

#include <limits.h>
#include "emu/judge/result/args.h"

/**
 * struct place
 * @root: $PEERPIN_ROOT, or the source tree of this program, or the tree built by peerpin-emu
 * @run: emu/vm/run in @root
 * @guest: the program that runs the scenarios in the VM
 * @driver, @test: full paths; @driver with the module's parameters
 * @dir: temporary directory, removed at the end
 * @shared: a directory in @dir that the VM, and so the driver under test, can write to. Each VM gets a new one, because
 *          an untrusted VM may leave anything there, such as a link to one of our files
 * @plan: a file in @shared, for the guest
 * @log: kernel log in @dir, from emu/vm/run
 * @complaints: stderr of emu/vm/run, in @dir
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

/* Returns 0, or EXIT_USAGE after printing the error. */
int place_open(struct place *place, const struct verify_args *args);

/* Call before each VM: sets @shared and @plan. Returns 0, or EXIT_USAGE after printing the error. */
int place_share(struct place *place);

void place_close(const struct place *place);

#endif
