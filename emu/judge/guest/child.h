/* SPDX-License-Identifier: MIT */
/*
 * Runs a call in a child process: the call may hang or be killed in the kernel, and
 * the guest program must survive to report it.
 */
#ifndef JUDGE_CHILD_H
#define JUDGE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/** child_run - run @call, which returns 0 or -errno, in a child process; returns the child's pid or -errno */
pid_t child_run(int (*call)(const void *arg), const void *arg);

/**
 * child_wait - wait for the child's end; returns the result of the child's call,
 * -ETIMEDOUT if the child still runs after @ms milliseconds, or -EFAULT if a signal
 * killed the child
 */
int child_wait(pid_t pid, int ms);

/** child_call - child_run(), then child_wait() */
int child_call(int (*call)(const void *arg), const void *arg, int ms);

/** now_ms - the monotonic clock, in milliseconds */
long now_ms(void);

#endif
