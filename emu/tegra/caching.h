/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's own mapping of the GPU's memory. Some processors must not have
 * a page mapped in two ways, and on x86 the kernel gives a driver that maps it
 * later whatever its own mapping is. arm64 has no call for this.
 */
#ifndef _EMUGPU_CACHING_H
#define _EMUGPU_CACHING_H

#include <linux/mm.h>

#ifdef CONFIG_X86
#include <asm/set_memory.h>

/* 0 or -errno, and then it is as it was */
static inline int emugpu_caching_combine(struct page *page, int n)
{
	int err = set_memory_wc((unsigned long)page_address(page), n);

	if (err)
		set_memory_wb((unsigned long)page_address(page), n);
	return err;
}

static inline void emugpu_caching_restore(struct page *page, int n)
{
	WARN_ON(set_memory_wb((unsigned long)page_address(page), n));
}
#else
static inline int emugpu_caching_combine(struct page *page, int n)
{
	return 0;
}

static inline void emugpu_caching_restore(struct page *page, int n)
{
}
#endif

#endif
