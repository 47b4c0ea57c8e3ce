/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels from 6.1 on; the code is written for the newest kernel. */
#ifndef _EMUGPU_COMPAT_H
#define _EMUGPU_COMPAT_H

#include <linux/dma-mapping.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "emugpu needs kernel 6.1 or later"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns) MODULE_INFO(import_ns, ns)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define dma_buf_invalidate_mappings dma_buf_move_notify
#define invalidate_mappings move_notify	/* member of struct dma_buf_attach_ops */
#endif

/* Before 6.18: dma_map_resource(), which refuses BARs with p2pdma pages if CONFIG_DMA_API_DEBUG=y. */
#ifndef DMA_ATTR_MMIO
#define DMA_ATTR_MMIO 0
#define dma_map_phys dma_map_resource
#define dma_unmap_phys dma_unmap_resource
#endif

/* Reference count of p2pdma pages in the kernel's pool */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define EMUGPU_P2P_IDLE_COUNT 1
#else
#define EMUGPU_P2P_IDLE_COUNT 0
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* Stores the page frame that a VM_IO or VM_PFNMAP area maps at @at. Returns 0, or -EINVAL if no page is mapped there. */
static inline int emugpu_follow_pfn(struct vm_area_struct *vma, unsigned long at, unsigned long *pfn)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
	return follow_pfn(vma, at, pfn);
#else
	struct follow_pfnmap_args args = { .vma = vma, .address = at };
	int err = follow_pfnmap_start(&args);

	if (err)
		return err;
	*pfn = args.pfn;
	follow_pfnmap_end(&args);
	return 0;
#endif
}

/*
 * Stores up to @n pages from address @at on, each with a reference, without causing a page fault. Returns how many, up to
 * the first that no page table has, or -errno. mmap lock held.
 */
static inline long emugpu_get_present_pages(struct mm_struct *mm, unsigned long at, unsigned long n, struct page **pages)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return get_user_pages_remote(mm, at, n, FOLL_NOFAULT, pages, NULL, NULL);
#else
	return get_user_pages_remote(mm, at, n, FOLL_NOFAULT, pages, NULL);
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

#endif
