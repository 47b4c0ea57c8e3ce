/* SPDX-License-Identifier: MIT */
/*
 * node: queries of /dev/emugpu. Each query opens the file again, because an open file
 * belongs to one process and does not work in a child of fork().
 */
#ifndef NODE_H
#define NODE_H

#include <emugpu.h>
#include <nvml.h>
#include <stdbool.h>

/* node_present - whether the driver is loaded and accessible */
bool node_present(void);

/* node_info - query a GPU by its number; NVML_ERROR_GPU_IS_LOST: no such GPU */
nvmlReturn_t node_info(unsigned int gpu, struct emugpu_info *info);

#endif
