/* SPDX-License-Identifier: MIT */
/* Threads that stay, each on a CPU of its own; the first is the caller. */
#ifndef TEAM_H
#define TEAM_H

#include <stdatomic.h>
#include <stdbool.h>

enum { TEAM = 2 };

/* As many of them as there are CPUs for */
unsigned int team_size(void);

/* Where the CPU of a member is: what else is to run there, runs there from now on */
void team_move_to(unsigned int member);

/* @job by the first @n at once; returns when all have returned. */
void team_run(unsigned int n, void (*job)(void *arg, unsigned int me), void *arg);

/* Begins a job for the second, which the caller ends by a sign of its own and then waits for. */
void team_start_second(void (*job)(void *arg, unsigned int me), void *arg);
void team_wait_second(void);

/* Returns when @n have called it with the same @count, which began as 0. */
void team_meet(atomic_uint *count, unsigned int n);

#endif
