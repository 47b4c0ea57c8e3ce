/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A GPU: one ivshmem device. Its BAR2 is both the VRAM and the BAR1 aperture.
 *
 * Blocks may keep this structure after the PCI device was removed. @gone then means that the memory
 * is gone. A new GPU at the same BAR addresses is accepted only after all pins and mappings of the
 * removed GPU have ended: peer devices may still use these addresses.
 */
#ifndef _EMUGPU_GPU_H
#define _EMUGPU_GPU_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/pci.h>

#include "../include/emugpu.h"
#include "bar1.h"
#include "vram.h"

/* The BAR with the memory */
#define EMUGPU_BAR 2

struct emugpu_gpu {
	struct kref refs;
	struct list_head node;	/* entry in the list of removed GPUs; slots lock */
	struct pci_dev *pdev;	/* gives the PCI address; no access to the device after @gone */
	phys_addr_t bar;
	u64 size;
	bool gone;		/* the device is removed; written once, under the API lock, before the window closes */
	void *window;		/* kernel mapping of the BAR, or NULL; window lock */
	struct emugpu_vram vram;
	struct emugpu_bar1 bar1;
	u8 uuid[16];
};

int emugpu_gpu_register(void);
void emugpu_gpu_unregister(void);

/* GPUs of this module are discrete: their memory is behind a BAR. */
#define EMUGPU_INTEGRATED 0

/*
 * Whether the GPUs are coherent with the CPU (Grace): consumers reach their memory at addresses of
 * its own, which need no BAR1, or through BAR1 on request. In this emulator both are the addresses
 * of the BAR. Any context.
 */
bool emugpu_gpu_is_coherent(void);

/* Whether peers may pin a block with these flags */
static inline bool emugpu_gpu_lends(u32 flags)
{
	return !(flags & EMUGPU_ALLOC_NO_P2P);
}

/* GPU number @index with a reference, or NULL */
struct emugpu_gpu *emugpu_gpu_get(u32 index);

static inline void emugpu_gpu_get_ref(struct emugpu_gpu *gpu)
{
	kref_get(&gpu->refs);
}

void emugpu_gpu_put(struct emugpu_gpu *gpu);

/* See emugpu_bar1_limit(); API lock held. */
static inline int emugpu_gpu_limit_bar1(struct emugpu_gpu *gpu, u64 bytes)
{
	return emugpu_bar1_limit(&gpu->bar1, bytes);
}

/* Called when VRAM pages get a new owner. Discrete GPUs have nothing to do. */
static inline int emugpu_gpu_claim(struct emugpu_gpu *gpu, const u32 *pages, u32 n, bool combined)
{
	return 0;
}

static inline void emugpu_gpu_lock_claims(struct emugpu_gpu *gpu)
{
}

static inline void emugpu_gpu_unlock_claims(struct emugpu_gpu *gpu)
{
}

void emugpu_gpu_info(struct emugpu_gpu *gpu, struct emugpu_info *info);

static inline u64 emugpu_gpu_page_offset(u32 page)
{
	return (u64)page * EMUGPU_PAGE_SIZE;
}

static inline phys_addr_t emugpu_gpu_page_phys(const struct emugpu_gpu *gpu, u32 page)
{
	return gpu->bar + emugpu_gpu_page_offset(page);
}

#endif
