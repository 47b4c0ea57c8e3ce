/* SPDX-License-Identifier: MIT */
/* Paths of the driver, the test, the tree that has emu/vm/run, and a temporary directory. */
#ifndef VERIFY_PLACE_H
#define VERIFY_PLACE_H

#include <limits.h>
#include "emu/judge/result/args.h"

/**
 * struct place - paths
 * @root: a tree: $PEERPIN_ROOT, or the source tree of this program, or the tree built by peerpin-emu
 * @run: emu/vm/run in @root
 * @adapter: emu/vm/adapter in @root
 * @guest: program that runs the scenarios in the VM
 * @driver, @test: full paths; after its path, @driver has the module's parameters
 * @dir: temporary directory, removed at the end
 * @shared: directory in @dir that the VM, and so the driver under test, can write to. Each VM gets a new directory,
 *          because an untrusted VM may leave anything there, such as a link to a file of the user
 * @plan: file in @shared with the plan for the guest
 * @log: file in @dir to which emu/vm/run writes the kernel log
 * @complaints: file in @dir with the stderr of emu/vm/run
 */
struct place {
	char root[PATH_MAX];
	char run[PATH_MAX];
	char adapter[PATH_MAX];
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
