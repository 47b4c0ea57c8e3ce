/* SPDX-License-Identifier: GPL-2.0 */
/*
 * struct pages for the BAR (PCI_P2PDMA), so that other drivers accept CPU mappings of GPU memory
 * for direct I/O.
 *
 * This module holds one reference to each of these pages, from emugpu_p2pmem_open() to
 * emugpu_p2pmem_close(). CPU mappings and running transfers hold more references. A page is "at
 * home" if no other reference exists. A freed VRAM page is reused only when it is at home
 * (emu/common/memory/vram.c).
 */
#ifndef _EMUGPU_P2PMEM_H
#define _EMUGPU_P2PMEM_H

#include <linux/mm.h>
#include <linux/types.h>

#include "emugpu.h"

struct emugpu_gpu;
struct pci_dev;

/* The first struct page of the BAR; NULL if p2pdma is off or failed (logged) */
struct page *emugpu_p2pmem_open(struct pci_dev *pdev, u64 size);

/* Waits for running transfers, until all pages are at home. Call after all CPU mappings are removed. */
void emugpu_p2pmem_await_home(struct pci_dev *pdev, u64 size, struct page *first);

/* Returns the pages to the p2pdma pool. Call when all pages are at home, and no new mapping is possible. */
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
