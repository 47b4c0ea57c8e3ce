/* SPDX-License-Identifier: MIT */
#ifndef DEVICE_H
#define DEVICE_H

#include <cuda.h>
#include <emugpu.h>

/* device_probe - find the GPUs, for cuInit(); CUDA_ERROR_NO_DEVICE: /dev/emugpu has no GPU */
CUresult device_probe(void);

/* device_count - number of GPUs found */
int device_count(void);

/* device_get - a GPU as found by cuInit(); NULL: no GPU of that number */
const struct emugpu_info *device_get(CUdevice dev);

/* device_gpu - number of GPU @dev in /dev/emugpu; greater than @dev if a lower number has no GPU */
static inline unsigned int device_gpu(CUdevice dev)
{
	return device_get(dev)->gpu;
}

#endif
