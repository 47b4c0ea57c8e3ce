/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A GPU: one ivshmem device, whose BAR2 is the VRAM and the BAR1 aperture.
 *
 * The structure outlives its PCI device while blocks refer to it; @gone then
 * says that there is no memory behind it any more.
 */
#ifndef _EMUGPU_GPU_H
#define _EMUGPU_GPU_H

#include <linux/kref.h>
#include <linux/pci.h>

#include "../include/emugpu.h"
#include "bar1.h"
#include "vram.h"

struct emugpu_gpu {
	struct kref refs;
	struct pci_dev *pdev;	/* for its address; no access once gone */
	phys_addr_t bar;
	u64 size;
	bool gone;		/* written once, under the API lock, before the window closes */
	void *window;		/* window lock; NULL: no CPU mapping */
	struct emugpu_vram vram;
	struct emugpu_bar1 bar1;
	u8 uuid[16];
};

int emugpu_gpu_register(void);
void emugpu_gpu_unregister(void);

/* GPU number @index with a reference, or NULL */
struct emugpu_gpu *emugpu_gpu_get(u32 index);
void emugpu_gpu_put(struct emugpu_gpu *gpu);
void emugpu_gpu_info(const struct emugpu_gpu *gpu, struct emugpu_info *info);

static inline u64 emugpu_gpu_page_offset(u32 page)
{
	return (u64)page * EMUGPU_PAGE_SIZE;
}

static inline phys_addr_t emugpu_gpu_page_phys(const struct emugpu_gpu *gpu, u32 page)
{
	return gpu->bar + emugpu_gpu_page_offset(page);
}

#endif
