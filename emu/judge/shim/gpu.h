/* SPDX-License-Identifier: MIT */
/* The emulated GPU driver, as the shim asks it; 0 or -errno. */
#ifndef SHIM_GPU_H
#define SHIM_GPU_H

#include <stdbool.h>
#include <stdint.h>

/** gpu_pins - how often memory was pinned since the test began */
int gpu_pins(uint32_t *out);

/** gpu_open - for the functions below; the file, which gpu_close() closes */
int gpu_open(void);
void gpu_close(int gpu);

/** gpu_has_pins - whether any memory is pinned now, of any GPU */
bool gpu_has_pins(void);

/** gpu_revoke - all memory that may be taken away, exported or pinned; @out_told: it was, and somebody was told */
int gpu_revoke(int gpu, bool *out_told);

/** gpu_hide - put aside what process @pid has pinned, and nobody else may write to */
int gpu_hide(int gpu, uint32_t pid);

/** gpu_show - put it back; @out_changed: pages that were written meanwhile */
int gpu_show(int gpu, uint32_t *out_changed);

#endif
