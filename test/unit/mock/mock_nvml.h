/* SPDX-License-Identifier: MIT */
/*
 * A make-believe management library in place of lib/cuda/nvml.c: GPUs in another
 * order than CUDA's, GPU n of NVML with n MiB of its BAR1 free.
 */
#ifndef MOCK_NVML_H
#define MOCK_NVML_H

#include <stdbool.h>

enum {
	MOCK_NVML_GPUS = 8,	/* CUDA's device d is MOCK_NVML_GPUS - 1 - d here */
};

extern bool mock_nvml_loaded;
extern unsigned int mock_nvml_lost;	/* this many, from the first, do not answer */

#endif
