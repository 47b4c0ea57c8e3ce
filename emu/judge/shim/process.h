/* SPDX-License-Identifier: MIT */
/*
 * Hidden children of the test: they send no SIGCHLD, and the test's wait() does not
 * return them. A child may only make system calls: at the fork, other threads may
 * have held any lock of the C library.
 */
#ifndef SHIM_PROCESS_H
#define SHIM_PROCESS_H

#include <sys/types.h>

/** process_fork - like fork() */
pid_t process_fork(void);

/** process_wait - wait until @pid has ended; kill it after @ms milliseconds */
void process_wait(pid_t pid, int ms);

/** process_nap - sleep for a millisecond */
void process_nap(void);

#endif
