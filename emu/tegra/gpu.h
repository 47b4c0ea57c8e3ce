/* SPDX-License-Identifier: GPL-2.0 */
/* The only integrated GPU. Its memory is host memory, allocated when the module is loaded. */
#ifndef _EMUGPU_GPU_H
#define _EMUGPU_GPU_H

#include <linux/errno.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pfn.h>

#include "../include/emugpu.h"
#include "vram.h"

struct emugpu_gpu {
	struct kref refs;
	u64 size;
	bool gone;		/* always false: there is no device to unbind */
	struct emugpu_vram vram;
	struct page **memory;	/* for each VRAM page, its first struct page */
	struct mutex claims;	/* protects @combined, and entries of @memory for pages without an owner */
	unsigned long *combined;	/* one bit per VRAM page: the page's direct mapping is write-combined */
	u8 uuid[16];
};

int emugpu_gpu_register(void);
void emugpu_gpu_unregister(void);

#define EMUGPU_INTEGRATED 1

/* Whether peers may pin a block with these flags: only memory from cudaHostAlloc() */
static inline bool emugpu_gpu_lends(u32 flags)
{
	return (flags & (EMUGPU_ALLOC_HOST | EMUGPU_ALLOC_NO_P2P)) == EMUGPU_ALLOC_HOST;
}

/* The GPU with a reference for @index 0, else NULL */
struct emugpu_gpu *emugpu_gpu_get(u32 index);

static inline void emugpu_gpu_get_ref(struct emugpu_gpu *gpu)
{
	kref_get(&gpu->refs);
}

void emugpu_gpu_put(struct emugpu_gpu *gpu);

/* An integrated GPU has no BAR1. */
static inline int emugpu_gpu_limit_bar1(struct emugpu_gpu *gpu, u64 bytes)
{
	return -EOPNOTSUPP;
}

/*
 * Prepares VRAM pages for a new owner, which maps them write-combined (@combined) or cached.
 * Replaces pages that are still referenced, for example by direct I/O of the last owner. Returns 0
 * or -errno.
 */
int emugpu_gpu_claim(struct emugpu_gpu *gpu, const u32 *pages, u32 n, bool combined);

/* While this lock is held, no page is replaced. */
static inline void emugpu_gpu_lock_claims(struct emugpu_gpu *gpu)
{
	mutex_lock(&gpu->claims);
}

static inline void emugpu_gpu_unlock_claims(struct emugpu_gpu *gpu)
{
	mutex_unlock(&gpu->claims);
}

void emugpu_gpu_info(struct emugpu_gpu *gpu, struct emugpu_info *info);

static inline u64 emugpu_gpu_page_offset(u32 page)
{
	return (u64)page * EMUGPU_PAGE_SIZE;
}

static inline phys_addr_t emugpu_gpu_page_phys(const struct emugpu_gpu *gpu, u32 page)
{
	return PFN_PHYS(page_to_pfn(gpu->memory[page]));
}

/* The struct page at byte @offset of the memory made of the VRAM pages @pages */
static inline struct page *emugpu_gpu_cpu_page(const struct emugpu_gpu *gpu, const u32 *pages, u64 offset)
{
	return gpu->memory[pages[offset / EMUGPU_PAGE_SIZE]] + offset % EMUGPU_PAGE_SIZE / PAGE_SIZE;
}

#endif
