/* SPDX-License-Identifier: MIT */
/* A pool of threads, each on its own CPU; the first is the caller. */
#ifndef TEAM_H
#define TEAM_H

#include <stdatomic.h>
#include <stdbool.h>

enum { TEAM = 2 };

/* As many members as CPUs allow */
unsigned int team_size(void);

/* Move the calling thread to the CPU of a member. */
void team_move_to(unsigned int member);

/* Run @job in the first @n members; return when all have returned. */
void team_run(unsigned int n, void (*job)(void *arg, unsigned int me), void *arg);

/* Begin a job in the second member; the caller ends it by its own means, and then waits for it. */
void team_start_second(void (*job)(void *arg, unsigned int me), void *arg);
void team_wait_second(void);

/* A barrier: return when @n members have called it with the same @count, initially 0. */
void team_meet(atomic_uint *count, unsigned int n);

#endif
