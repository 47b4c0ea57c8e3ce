/* SPDX-License-Identifier: GPL-2.0 */
/* All differences between kernel versions. The other files are written for the newest kernel. */
#ifndef _PEERPIN_COMPAT_H
#define _PEERPIN_COMPAT_H

#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "peerpin needs Linux 6.1 or later"
#endif

#ifndef CONFIG_64BIT
#error "peerpin needs a 64-bit kernel: a cookie is a long that must never wrap"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns) MODULE_INFO(import_ns, ns)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define dma_buf_invalidate_mappings dma_buf_move_notify
#define invalidate_mappings move_notify	/* of struct dma_buf_attach_ops */
#endif

/*
 * dma_map_phys() exists since 6.18. In older kernels with CONFIG_DMA_API_DEBUG, dma_map_resource()
 * refuses a BAR with pages of p2pdma.
 */
#ifndef DMA_ATTR_MMIO
#define DMA_ATTR_MMIO BIT(31)	/* not in use before 6.18 */

static inline dma_addr_t dma_map_phys(struct device *dev, phys_addr_t phys, size_t size,
				      enum dma_data_direction dir, unsigned long attrs)
{
	if (attrs & DMA_ATTR_MMIO)
		return dma_map_resource(dev, phys, size, dir, attrs & ~DMA_ATTR_MMIO);
	if (!pfn_valid(PHYS_PFN(phys)))
		return DMA_MAPPING_ERROR;
	return dma_map_page_attrs(dev, pfn_to_page(PHYS_PFN(phys)), offset_in_page(phys), size, dir, attrs);
}

static inline void dma_unmap_phys(struct device *dev, dma_addr_t bus, size_t size,
				  enum dma_data_direction dir, unsigned long attrs)
{
	if (attrs & DMA_ATTR_MMIO)
		dma_unmap_resource(dev, bus, size, dir, attrs & ~DMA_ATTR_MMIO);
	else
		dma_unmap_page_attrs(dev, bus, size, dir, attrs);
}
#endif

/* 1: each importer's mapping pins the dma-buf; 0: only a static importer's mapping pins */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0) && !IS_ENABLED(CONFIG_DMABUF_MOVE_NOTIFY)
#define PP_DMABUF_MAPPING_PINS 1
#else
#define PP_DMABUF_MAPPING_PINS 0
#endif

/*
 * 1: an importer with invalidate_mappings() is revocable. It may be notified even if it has pinned the dma-buf, and
 * must unmap within a bounded time. 0: an importer that has pinned the dma-buf must not be notified. Other importers
 * are notified, but need not unmap: their fences show the end of their DMA.
 */
#define PP_DMABUF_REVOCABLE (LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0))

/* 1: a pin with FOLL_LONGTERM waits for userfaultfd, and FOLL_INTERRUPTIBLE exists */
#define PP_LONGTERM_PINS_WAIT (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0))

/* 1: FOLL_LONGTERM pins writable shared mappings of files, too */
#define PP_LONGTERM_PINS_FILES (LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0))

/* since 6.17, and in some stable kernels before; Linux 7.3 warns of system_unbound_wq */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define system_dfl_wq system_unbound_wq
#endif

#ifndef fd_file	/* since 6.12 */
#define fd_file(f) ((f).file)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set,
				vm_flags_t clear)
{
	vma->vm_flags |= set;
	vma->vm_flags &= ~clear;
}
#endif

#endif
