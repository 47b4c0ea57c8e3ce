/* SPDX-License-Identifier: MIT */
#ifndef SOAK_TROUBLE_H
#define SOAK_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Find the GPUs and the peers. False: no GPU or no peer */
bool trouble_init(void);

/*
 * Start one disturbance in a separate process, which also ends the disturbance. Does nothing while
 * an earlier disturbance goes on.
 */
void trouble_make(uint64_t *seed);

/* True if no disturbance goes on. If one takes too long, ends the run and prints its kernel stack. */
bool trouble_is_over(void);

#endif
