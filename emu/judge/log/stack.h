/* SPDX-License-Identifier: MIT */
/* The kernel stack of a process that hangs. */
#ifndef JUDGE_STACK_H
#define JUDGE_STACK_H

#include <stddef.h>
#include <sys/types.h>

/** stack_of - the innermost functions of modules on the stacks of its threads; "": none */
void stack_of(pid_t pid, char *out, size_t size);

#endif
