/* SPDX-License-Identifier: MIT */
/*
 * What may never return, or be killed in the kernel, is done by a child, so
 * that the guest lives on to tell.
 */
#ifndef JUDGE_CHILD_H
#define JUDGE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/** child_run - fork and call; the child's end is its result, 0 or -errno; returns its pid or -errno */
pid_t child_run(int (*call)(const void *arg), const void *arg);

/**
 * child_wait - for its end; its result, -ETIMEDOUT when there is none in so
 * many milliseconds (it lives on), -EFAULT when the kernel has killed it
 */
int child_wait(pid_t pid, int ms);

/** child_call - both */
int child_call(int (*call)(const void *arg), const void *arg, int ms);

/** now_ms - of a clock that only goes on */
long now_ms(void);

#endif
