/* SPDX-License-Identifier: MIT */
/* A virtual machine that runs a plan. emu/vm/run is a child process; a pipe carries its output. */
#ifndef VERIFY_VM_H
#define VERIFY_VM_H

#include <stdint.h>
#include <sys/types.h>
#include "emu/judge/result/args.h"
#include "place.h"
#include "emu/judge/result/scenarios.h"

/* struct vm - @pid: the process emu/vm/run; @out: read end of the pipe with the guest's output */
struct vm {
	pid_t pid;
	int out;
};

/*
 * Starts a VM for @plan, in which all scenarios have one boot. @record: record the events of
 * the first scenario. Returns 0, or EXIT_USAGE after printing the error.
 */
int vm_start(struct vm *vm, const struct verify_args *args, struct place *place,
	     const struct scenarios *plan, bool record);

/* Waits up to @ms for output. Returns the bytes read, 0 after the VM's end, -EAGAIN without output, or -errno. */
ssize_t vm_read(const struct vm *vm, char *data, size_t size, int ms);

/* Ends the VM if it still runs. Returns the exit status of emu/vm/run, or -1 if a signal ended it. */
int vm_stop(struct vm *vm);

#endif
