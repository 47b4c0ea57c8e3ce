/* SPDX-License-Identifier: MIT */
/*
 * node: one question at a time to /dev/emugpu. It is opened for each, since
 * what it tells is nobody's in particular and a file kept open would belong to
 * one process of those that fork() makes.
 */
#ifndef NODE_H
#define NODE_H

#include <emugpu.h>
#include <nvml.h>
#include <stdbool.h>

/* node_present - is the driver loaded, and may we use it? */
bool node_present(void);

/* node_info - NVML_ERROR_GPU_IS_LOST: no GPU of that number */
nvmlReturn_t node_info(unsigned int gpu, struct emugpu_info *info);

#endif
