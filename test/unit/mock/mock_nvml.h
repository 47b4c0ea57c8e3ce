/* SPDX-License-Identifier: MIT */
/*
 * A mock NVML in place of lib/cuda/nvml.c. NVML and CUDA number the GPUs in opposite order. GPU n
 * of NVML has n MiB of free BAR1 aperture.
 */
#ifndef MOCK_NVML_H
#define MOCK_NVML_H

#include <stdbool.h>

enum {
	MOCK_NVML_GPUS = 8,	/* device d of CUDA is GPU MOCK_NVML_GPUS - 1 - d of NVML */
};

extern bool mock_nvml_loaded;
extern unsigned int mock_nvml_lost;	/* number of GPUs, from GPU 0 on, that do not answer */

#endif
