/* SPDX-License-Identifier: MIT */
#ifndef SOAK_TROUBLE_H
#define SOAK_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Finds the GPUs and the peers; whether there are some of both */
bool trouble_init(void);

/*
 * Does one to everybody, in a process of its own, and undoes it: what takes long
 * is the kernel's fault. Nothing while the last has not ended.
 */
void trouble_make(uint64_t *seed);

/* Whether none goes on; one that takes too long ends the run, which is told where it waits. */
bool trouble_is_over(void);

#endif
