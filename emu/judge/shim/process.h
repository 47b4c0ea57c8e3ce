/* SPDX-License-Identifier: MIT */
/*
 * Processes beside the test that the test does not notice: they send no
 * SIGCHLD, and its wait() does not find them. In one of them, only system
 * calls are safe: other threads may have held any lock.
 */
#ifndef SHIM_PROCESS_H
#define SHIM_PROCESS_H

#include <sys/types.h>

/** process_fork - as fork() */
pid_t process_fork(void);

/** process_wait - until it has ended, or was killed after so many milliseconds */
void process_wait(pid_t pid, int ms);

/** process_nap - a millisecond */
void process_nap(void);

#endif
