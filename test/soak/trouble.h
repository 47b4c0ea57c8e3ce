/* SPDX-License-Identifier: MIT */
#ifndef SOAK_TROUBLE_H
#define SOAK_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Finds the GPUs and the peers; false if one kind is missing */
bool trouble_init(void);

/*
 * Starts one disturbance in a separate process, which also undoes it; the kernel must
 * not make it take long. Does nothing while the last disturbance goes on.
 */
void trouble_make(uint64_t *seed);

/* True if no disturbance goes on. One that takes too long ends the run and prints its kernel stack. */
bool trouble_is_over(void);

#endif
