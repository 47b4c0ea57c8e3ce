/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * linux/nv-p2p.h as on Tegra: the kernel interface by which the driver of an
 * integrated GPU lends CUDA memory to the driver of another device (seeds 004
 * and 000 13.4). The names are those of nv-p2p.h of discrete GPUs; arguments
 * and rules are others. Written anew; what drivers read is as in the header of
 * Linux for Tegra, whose structures have private members after it.
 *
 * Context: every function may sleep. Only free_page_table, dma_unmap_pages and
 * free_dma_mapping may be called in a free callback.
 */
#ifndef _LINUX_NV_P2P_H
#define _LINUX_NV_P2P_H

#include <linux/dma-direction.h>
#include <linux/mmu_notifier.h>
#include <linux/types.h>

struct device;
struct page;

/*
 * Versions: major in the upper half, minor in the lower. A consumer may read a
 * structure when the major is the one it was built for and the minor is not
 * less; each structure begins with its version.
 */
#define NVIDIA_P2P_MAJOR_VERSION_MASK 0xffff0000
#define NVIDIA_P2P_MINOR_VERSION_MASK 0x0000ffff
#define NVIDIA_P2P_MAJOR_VERSION(v) (((v) & NVIDIA_P2P_MAJOR_VERSION_MASK) >> 16)
#define NVIDIA_P2P_MINOR_VERSION(v) ((v) & NVIDIA_P2P_MINOR_VERSION_MASK)
#define NVIDIA_P2P_MAJOR_VERSION_MATCHES(p, v) \
	(NVIDIA_P2P_MAJOR_VERSION((p)->version) == NVIDIA_P2P_MAJOR_VERSION(v))
#define NVIDIA_P2P_VERSION_COMPATIBLE(p, v) \
	(NVIDIA_P2P_MAJOR_VERSION_MATCHES(p, v) && \
	 NVIDIA_P2P_MINOR_VERSION((p)->version) >= NVIDIA_P2P_MINOR_VERSION(v))

#define NVIDIA_P2P_PAGE_TABLE_VERSION 0x00010000
#define NVIDIA_P2P_PAGE_TABLE_VERSION_COMPATIBLE(p) \
	NVIDIA_P2P_VERSION_COMPATIBLE(p, NVIDIA_P2P_PAGE_TABLE_VERSION)

#define NVIDIA_P2P_DMA_MAPPING_VERSION 0x00010000
#define NVIDIA_P2P_DMA_MAPPING_VERSION_COMPATIBLE(p) \
	NVIDIA_P2P_VERSION_COMPATIBLE(p, NVIDIA_P2P_DMA_MAPPING_VERSION)

enum nvidia_p2p_page_size_type {
	NVIDIA_P2P_PAGE_SIZE_4KB = 0,
	NVIDIA_P2P_PAGE_SIZE_64KB,
	NVIDIA_P2P_PAGE_SIZE_128KB,
	NVIDIA_P2P_PAGE_SIZE_COUNT
};

/**
 * struct nvidia_p2p_page_table - what is pinned
 * @version: NVIDIA_P2P_PAGE_TABLE_VERSION of the driver
 * @page_size: enum nvidia_p2p_page_size_type; 4 KiB
 * @size: bytes
 * @entries: how many pages
 * @pages: of the CPU; whoever maps them into a process does it write-combined
 *	when the memory was allocated so, and not otherwise
 * @mn: the driver's own, but that a consumer can tell by it in a callback what
 *	put_pages says of a process that has ended: its list entry is hashed
 *	until the notifier is given back
 */
typedef struct nvidia_p2p_page_table {
	u32 version;
	u32 page_size;
	u64 size;
	u32 entries;
	struct page **pages;
	struct mmu_notifier mn;
} nvidia_p2p_page_table_t;

/**
 * struct nvidia_p2p_dma_mapping - bus addresses of a page table for one device
 * @version: NVIDIA_P2P_DMA_MAPPING_VERSION of the driver
 * @hw_address: where each segment begins
 * @hw_len: its bytes; neighbouring pages are one segment
 * @entries: how many segments
 */
typedef struct nvidia_p2p_dma_mapping {
	u32 version;
	dma_addr_t *hw_address;
	u32 *hw_len;
	u32 entries;
} nvidia_p2p_dma_mapping_t;

/**
 * nvidia_p2p_get_pages() - pin memory of the calling process
 * @vaddr: address that cudaHostAlloc() gave, multiple of 4 KiB
 * @size: bytes, multiple of 4 KiB, not 0; within one allocation
 * @page_table: result; NULL on failure
 * @free_callback: called once, whatever ends the pin: put_pages, or the end of
 *	the memory or of its process. It undoes the DMA mappings, then calls
 *	nvidia_p2p_free_page_table() and kfree() of the table.
 * @data: handed to @free_callback
 *
 * Return: 0; -EINVAL a bad argument, or no such memory; -ENOMEM.
 */
int nvidia_p2p_get_pages(u64 vaddr, u64 size, struct nvidia_p2p_page_table **page_table,
			 void (*free_callback)(void *data), void *data);

/**
 * nvidia_p2p_put_pages() - end a pin
 * @page_table: from get_pages; its callback runs before this returns
 *
 * Call with no lock held that the callback takes. The caller sees to it that
 * the callback has not freed the table already, and does not kfree() it before
 * this returns, also when the callback comes in another thread meanwhile. But
 * after a callback that came as the process ended NVIDIA's driver keeps its MMU
 * notifier, and with it the process's mm_struct, until this is called (not in the
 * callback) before the kfree(); the callback does not come again. Where memory was
 * unmapped, be it of a process that is ending (by the OOM reaper), the notifier
 * has been given back before the callback, and this must not be called.
 * Return: 0; -EINVAL @page_table is NULL.
 */
int nvidia_p2p_put_pages(struct nvidia_p2p_page_table *page_table);

/**
 * nvidia_p2p_free_page_table() - let the pages go, in the callback
 * @page_table: from get_pages, without DMA mappings; NULL does nothing. The
 *	structure itself stays, and is the caller's to kfree().
 *
 * Return: 0.
 */
int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *page_table);

/**
 * nvidia_p2p_dma_map_pages() - make pinned pages known to a device
 * @dev: the DMA master
 * @page_table: from get_pages
 * @dma_mapping: result; NULL on failure
 * @direction: as in the kernel's DMA API
 *
 * Return: 0; -EINVAL a bad argument; -EIO @dev cannot reach the memory; -ENOMEM.
 */
int nvidia_p2p_dma_map_pages(struct device *dev, struct nvidia_p2p_page_table *page_table,
			     struct nvidia_p2p_dma_mapping **dma_mapping, enum dma_data_direction direction);

/** nvidia_p2p_dma_unmap_pages() - undo dma_map_pages and free @dma_mapping; -EINVAL for NULL */
int nvidia_p2p_dma_unmap_pages(struct nvidia_p2p_dma_mapping *dma_mapping);

/** nvidia_p2p_free_dma_mapping() - the same as dma_unmap_pages, not to be called as well */
int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *dma_mapping);

#endif
