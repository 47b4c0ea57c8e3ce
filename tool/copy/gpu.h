/* SPDX-License-Identifier: MIT */
/* The GPU, through the CUDA driver API, which is loaded when it is needed. */
#ifndef GPU_H
#define GPU_H

#include <stddef.h>
#include <stdint.h>

/** struct gpu_room - bytes of GPU memory */
struct gpu_room {
	size_t free;
	size_t total;
};

/* 0, or EXIT_FAILED after the complaint has been printed. Once a process. */
int gpu_open(void);

/* After gpu_open(). 0 or a CUresult; gpu_error() names it. */
int gpu_room(struct gpu_room *out);
int gpu_alloc(size_t size, uint64_t *out);
int gpu_free(uint64_t addr);
int gpu_write(uint64_t to, const void *from, size_t length);
int gpu_read(void *to, uint64_t from, size_t length);
const char *gpu_error(int result);

#endif
