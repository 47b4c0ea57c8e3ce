/* SPDX-License-Identifier: MIT */
/* The kernel stack of a process that hangs. */
#ifndef JUDGE_STACK_H
#define JUDGE_STACK_H

#include <stddef.h>
#include <sys/types.h>

/** stack_of - innermost functions of modules on the kernel stacks of @pid's threads; "": no such function */
void stack_of(pid_t pid, char *out, size_t size);

#endif
