/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window: the kernel's mapping of a whole BAR, used by the copy engine. The
 * emulated copy engine copies with the CPU. While a test has closed the window, such a
 * copy fails with -EBUSY, so data that still arrives came by a peer's DMA.
 *
 * One lock for all GPUs, because a copy may need the windows of two GPUs.
 */
#ifndef _EMUGPU_WINDOW_H
#define _EMUGPU_WINDOW_H

#include <linux/types.h>

struct emugpu_gpu;

int emugpu_window_open(struct emugpu_gpu *gpu);
void emugpu_window_close(struct emugpu_gpu *gpu);

void emugpu_window_lock_shared(void);
void emugpu_window_unlock_shared(void);

/* Takes the lock exclusively: copies by the GPU wait. */
void emugpu_window_lock(void);
void emugpu_window_unlock(void);

/* Address of a VRAM page. ERR_PTR: ENODEV: the GPU is gone; EBUSY: the window is closed. Window lock held. */
void *emugpu_window_page(const struct emugpu_gpu *gpu, u32 page);

#endif
