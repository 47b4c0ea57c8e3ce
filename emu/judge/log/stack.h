/* SPDX-License-Identifier: MIT */
/* Where in the kernel a process that does not end is. */
#ifndef JUDGE_STACK_H
#define JUDGE_STACK_H

#include <stddef.h>
#include <sys/types.h>

/** stack_of - the innermost functions of modules that its threads are in; "" where there is none */
void stack_of(pid_t pid, char *out, size_t size);

#endif
