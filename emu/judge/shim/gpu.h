/* SPDX-License-Identifier: MIT */
/* The shim's calls to the emulated GPU driver; they return 0 or -errno. */
#ifndef SHIM_GPU_H
#define SHIM_GPU_H

#include <stdbool.h>
#include <stdint.h>

/** gpu_pins - number of pins made since the test began, including ended pins */
int gpu_pins(uint32_t *out);

/** gpu_open - open the file that the functions below need; close it with gpu_close() */
int gpu_open(void);
void gpu_close(int gpu);

/** gpu_has_pins - whether memory of any GPU is pinned now */
bool gpu_has_pins(void);

/** gpu_callbacks - number of free callbacks and notifications so far */
int gpu_callbacks(int gpu, uint64_t *out);

/**
 * gpu_revoke - revoke all exported memory and all non-persistent pins, the newest or the oldest first
 *
 * @before: from gpu_callbacks(), which takes milliseconds; @out_told: a callback has run since then
 */
int gpu_revoke(int gpu, bool oldest_first, uint64_t before, bool *out_told);

/** gpu_hide - save the contents of the memory of process @pid, to detect writes by other processes */
int gpu_hide(int gpu, uint32_t pid);

/** gpu_show - restore the contents that gpu_hide() saved; @out_changed: number of pages written since then */
int gpu_show(int gpu, uint32_t *out_changed);

#endif
