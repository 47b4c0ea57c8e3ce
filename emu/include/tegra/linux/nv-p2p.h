/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * linux/nv-p2p.h of Tegra: the kernel interface by which the driver of an integrated GPU lets
 * drivers of other devices access CUDA memory (NVIDIA GPUDirect RDMA guide 13.4). The names equal
 * the names in nv-p2p.h of discrete GPUs; arguments and rules differ.
 *
 * Written from scratch. The members that drivers read are laid out as in Linux for Tegra, which has
 * private members after them.
 *
 * Context: every function may sleep. Only free_page_table, dma_unmap_pages and free_dma_mapping may
 * be called in a free callback.
 */
#ifndef _LINUX_NV_P2P_H
#define _LINUX_NV_P2P_H

#include <linux/dma-direction.h>
#include <linux/mmu_notifier.h>
#include <linux/types.h>

struct device;
struct page;

/*
 * A version has the major number in the upper half and the minor number in the lower half. Each
 * structure begins with its version. A consumer compares this version with the version for which
 * the consumer was built. The consumer may read the structure if the major numbers are equal and
 * the structure's minor number is not lower.
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
 * struct nvidia_p2p_page_table - the pages of a pin
 * @version: NVIDIA_P2P_PAGE_TABLE_VERSION of the driver
 * @page_size: enum nvidia_p2p_page_size_type; 4 KiB
 * @size: bytes
 * @entries: number of pages
 * @pages: CPU pages; a mapping into a process must be write-combined if the memory was allocated
 *	write-combined, else cached
 * @mn: private to the driver, but the callback may test whether mn.hlist is hashed; if hashed, the
 *	consumer must call nvidia_p2p_put_pages() later
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
 * @hw_address: start of each segment
 * @hw_len: bytes of each segment; adjacent pages are one segment
 * @entries: number of segments
 */
typedef struct nvidia_p2p_dma_mapping {
	u32 version;
	dma_addr_t *hw_address;
	u32 *hw_len;
	u32 entries;
} nvidia_p2p_dma_mapping_t;

/**
 * nvidia_p2p_get_pages() - pin memory of the calling process
 * @vaddr: address in memory from cudaHostAlloc(), multiple of 4 KiB
 * @size: bytes, multiple of 4 KiB, not 0; within one allocation
 * @page_table: result; NULL on failure
 * @free_callback: called once: by put_pages, when the memory is freed, or when its process ends.
 *	The callback undoes the DMA mappings, then calls nvidia_p2p_free_page_table() and kfree()
 *	for the table.
 * @data: passed to @free_callback
 *
 * Return: 0; -EINVAL: a bad argument, or no such memory; -ENOMEM.
 */
int nvidia_p2p_get_pages(u64 vaddr, u64 size, struct nvidia_p2p_page_table **page_table,
			 void (*free_callback)(void *data), void *data);

/**
 * nvidia_p2p_put_pages() - end a pin
 * @page_table: from get_pages; the free callback runs before this function returns
 *
 * The caller must ensure that
 *	- the caller holds no lock that the callback takes,
 *	- the callback has not freed the table before this call,
 *	- no thread calls kfree() for the table before this function returns, even if the callback runs
 *	  in another thread meanwhile.
 *
 * If the callback ran because the process ended, NVIDIA's driver keeps its MMU notifier, and so the
 * process's mm_struct. The consumer must then call this function outside the callback, before
 * kfree(). The callback does not run again.
 *
 * If the callback ran because memory was unmapped (also by the OOM reaper), the notifier is already
 * released. After such a callback, the consumer must not call this function.
 *
 * Return: 0; -EINVAL: @page_table is NULL.
 */
int nvidia_p2p_put_pages(struct nvidia_p2p_page_table *page_table);

/**
 * nvidia_p2p_free_page_table() - release the pages, in the callback
 * @page_table: from get_pages, must have no DMA mappings; NULL does nothing
 *
 * The caller must free the structure afterwards by kfree().
 *
 * Return: 0.
 */
int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *page_table);

/**
 * nvidia_p2p_dma_map_pages() - map pinned pages for a device
 * @dev: the DMA master
 * @page_table: from get_pages
 * @dma_mapping: result; NULL on failure
 * @direction: as in the kernel's DMA API
 *
 * Return: 0; -EINVAL: a bad argument; -EIO: @dev cannot reach the memory; -ENOMEM.
 */
int nvidia_p2p_dma_map_pages(struct device *dev, struct nvidia_p2p_page_table *page_table,
			     struct nvidia_p2p_dma_mapping **dma_mapping, enum dma_data_direction direction);

/** nvidia_p2p_dma_unmap_pages() - undo dma_map_pages and free @dma_mapping; -EINVAL for NULL */
int nvidia_p2p_dma_unmap_pages(struct nvidia_p2p_dma_mapping *dma_mapping);

/** nvidia_p2p_free_dma_mapping() - the same as dma_unmap_pages; call only one of the two */
int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *dma_mapping);

#endif
