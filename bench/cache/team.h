/* SPDX-License-Identifier: MIT */
/* A team of threads, each on its own CPU. The first member is the calling thread. */
#ifndef TEAM_H
#define TEAM_H

#include <stdatomic.h>
#include <stdbool.h>

enum { TEAM = 2 };

/* Number of members for which there are CPUs */
unsigned int team_size(void);

/* Move the calling thread to the CPU of a member. */
void team_move_to(unsigned int member);

/* Run @job in the first @n members; return when the job has returned in all of them. */
void team_run(unsigned int n, void (*job)(void *arg, unsigned int me), void *arg);

/* Begin a job in the second member. To end it, the caller makes the job return, then calls team_wait_second(). */
void team_start_second(void (*job)(void *arg, unsigned int me), void *arg);
void team_wait_second(void);

/* A barrier: return when @n members have called it with the same @count, initially 0. */
void team_meet(atomic_uint *count, unsigned int n);

#endif
