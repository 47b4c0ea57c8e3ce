/* SPDX-License-Identifier: MIT */
/*
 * A mock NVML in place of lib/cuda/nvml.c. Its order of GPUs differs from CUDA's; GPU n of
 * NVML has n MiB of its BAR1 aperture free.
 */
#ifndef MOCK_NVML_H
#define MOCK_NVML_H

#include <stdbool.h>

enum {
	MOCK_NVML_GPUS = 8,	/* CUDA's device d is GPU MOCK_NVML_GPUS - 1 - d of NVML */
};

extern bool mock_nvml_loaded;
extern unsigned int mock_nvml_lost;	/* the first GPUs, this many, do not answer */

#endif
