/* SPDX-License-Identifier: MIT */
/* The GPU, through the CUDA driver API, which gpu_open() loads. */
#ifndef GPU_H
#define GPU_H

#include <stddef.h>
#include <stdint.h>

/** struct gpu_room - bytes of GPU memory */
struct gpu_room {
	size_t free;
	size_t total;
};

/* Loads CUDA. Returns 0, or EXIT_FAILED after printing the error. After success, later calls return 0 at once. */
int gpu_open(void);

/* Call these after gpu_open(). They return 0 or a CUresult; gpu_error() returns the name of a CUresult. */
int gpu_room(struct gpu_room *out);
int gpu_alloc(size_t size, uint64_t *out);
int gpu_free(uint64_t addr);
int gpu_write(uint64_t to, const void *from, size_t length);
int gpu_read(void *to, uint64_t from, size_t length);
const char *gpu_error(int result);

#endif
