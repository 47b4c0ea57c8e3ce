/* SPDX-License-Identifier: GPL-2.0 */
/* CPU mappings of GPU memory by drivers: entries of page tables of processes. */
#ifndef _EMUGPU_CPUMAP_H
#define _EMUGPU_CPUMAP_H

struct emugpu_gpu;

/*
 * Searches the page tables of all processes for VRAM pages of @gpu that are set in the bitmap @pages, and sets them in
 * @found. Skips views of dma-bufs, and mappings of pages with a struct page. API lock held. Returns like
 * emugpu_spaces_visit().
 */
int emugpu_cpumap_search(const struct emugpu_gpu *gpu, const unsigned long *pages, unsigned long *found);

#endif
