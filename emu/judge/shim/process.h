/* SPDX-License-Identifier: MIT */
/*
 * Hidden children of the test: a hidden child sends no SIGCHLD, and the test's wait()
 * does not return it. A hidden child may only make system calls: another thread may
 * have held a lock of the C library during the fork.
 */
#ifndef SHIM_PROCESS_H
#define SHIM_PROCESS_H

#include <sys/types.h>

/** process_fork - fork a hidden child; returns like fork() */
pid_t process_fork(void);

/** process_wait - wait until @pid has ended; kill it after @ms milliseconds */
void process_wait(pid_t pid, int ms);

/** process_nap - sleep for a millisecond */
void process_nap(void);

#endif
