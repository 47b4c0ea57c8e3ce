/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages of the CPU for the BAR (PCI_P2PDMA), so that direct I/O of other
 * drivers takes addresses in GPU memory.
 *
 * We hold one reference on each such page from the start to the end. Whoever
 * maps it or moves data to or from it has another one, so a page is at home
 * when ours is the only one. VRAM that is freed while it is not at home gets
 * no new owner before it is (emu/common/memory/vram.c).
 */
#ifndef _EMUGPU_P2PMEM_H
#define _EMUGPU_P2PMEM_H

#include <linux/mm.h>
#include <linux/types.h>

#include "emugpu.h"

struct emugpu_gpu;
struct pci_dev;

/* The first page of the BAR, or NULL: there are none, and the kernel's log says why where they were asked for */
struct page *emugpu_p2pmem_open(struct pci_dev *pdev, u64 size);

/* Nobody maps them any more; waits for whoever still moves data. */
void emugpu_p2pmem_await_home(struct pci_dev *pdev, u64 size, struct page *first);

/* All are at home, and nobody asks for one any more. */
void emugpu_p2pmem_close(struct pci_dev *pdev, u64 size, struct page *first);

static inline struct page *emugpu_p2pmem_page(struct page *first, u32 vram_page)
{
	return first + (size_t)vram_page * (EMUGPU_PAGE_SIZE / PAGE_SIZE);
}

static inline bool emugpu_p2pmem_is_home(struct page *first, u32 vram_page)
{
	struct page *page = emugpu_p2pmem_page(first, vram_page);
	u32 i;

	for (i = 0; i < EMUGPU_PAGE_SIZE / PAGE_SIZE; i++)
		if (page_ref_count(page + i) != 1)
			return false;
	return true;
}

#endif
