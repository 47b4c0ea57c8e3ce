/* SPDX-License-Identifier: MIT */
/* A virtual machine that runs a plan: emu/vm/run as a child, its output through a pipe. */
#ifndef VERIFY_VM_H
#define VERIFY_VM_H

#include <stdint.h>
#include <sys/types.h>
#include "emu/judge/result/args.h"
#include "place.h"
#include "emu/judge/result/scenarios.h"

/* struct vm - @out: what the guest says */
struct vm {
	pid_t pid;
	int out;
};

/*
 * Runs @plan, whose scenarios are all of one boot, with @record in the first.
 * 0, or EXIT_USAGE after the complaint has been printed.
 */
int vm_start(struct vm *vm, const struct verify_args *args, struct place *place,
	     const struct scenarios *plan, bool record);

/* Wait @ms for more. Bytes read; 0: it has ended; -EAGAIN: nothing yet; -EINTR */
ssize_t vm_read(const struct vm *vm, char *data, size_t size, int ms);

/* Ends it if it has not yet. The exit status of emu/vm/run, or -1 */
int vm_stop(struct vm *vm);

#endif
