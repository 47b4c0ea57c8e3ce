/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window: the kernel's own mapping of a whole BAR, through which the copy
 * engine works. Tests close it to show that data can only have come by DMA.
 *
 * One lock for all GPUs, because a copy may need the windows of two.
 */
#ifndef _EMUGPU_WINDOW_H
#define _EMUGPU_WINDOW_H

#include <linux/types.h>

struct emugpu_gpu;

int emugpu_window_open(struct emugpu_gpu *gpu);
void emugpu_window_close(struct emugpu_gpu *gpu);

void emugpu_window_lock_shared(void);
void emugpu_window_unlock_shared(void);

/* Exclusively: copies by the GPU wait. */
void emugpu_window_lock(void);
void emugpu_window_unlock(void);

/* Address of a VRAM page, or ERR_PTR: ENODEV gone, EBUSY closed. Window lock held. */
void *emugpu_window_page(const struct emugpu_gpu *gpu, u32 page);

#endif
