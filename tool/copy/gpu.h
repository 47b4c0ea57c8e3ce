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

enum gpu_state {
	GPU_OPEN,
	GPU_ABSENT,	/* no CUDA library, or no GPU */
	GPU_BROKEN,
};

/* As gpu_open(), but writes the error to @why and prints nothing. */
enum gpu_state gpu_try_open(char *why, size_t room);

/* Call these after gpu_open(). They return 0 or a CUresult; gpu_error() returns the name of a CUresult. */
int gpu_room(struct gpu_room *out);
int gpu_alloc(size_t size, uint64_t *out);
int gpu_free(uint64_t addr);
int gpu_write(uint64_t to, const void *from, size_t length);
int gpu_read(void *to, uint64_t from, size_t length);
int gpu_copy(uint64_t to, uint64_t from, size_t length);	/* within GPU memory; waits for the end of the copy */
int gpu_name(char *out, int room);
int gpu_cuda_version(int *out);		/* 12020: 12.2 */
const char *gpu_error(int result);

#endif
