/* SPDX-License-Identifier: GPL-2.0 */
/* DMA mappings of GPU memory that drivers have made themselves: entries of the tables of the IOMMU. */
#ifndef _EMUGPU_BUSMAP_H
#define _EMUGPU_BUSMAP_H

struct emugpu_gpu;

/*
 * Searches the IOMMU domains of all PCI devices with a driver for VRAM pages of @gpu that are set in the bitmap @pages, and
 * sets them in @found. Searches only the last 64 MiB of bus addresses below 4 GiB, which the kernel allocates first. Finds
 * nothing without an IOMMU.
 */
void emugpu_busmap_search(const struct emugpu_gpu *gpu, const unsigned long *pages, unsigned long *found);

#endif
