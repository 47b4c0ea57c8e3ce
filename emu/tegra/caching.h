/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sets the cache attribute of GPU memory in the kernel's direct mapping, because some processors
 * forbid different attributes for one page. On x86, later mappings by drivers get the attribute of
 * the direct mapping. On arm64 these functions do nothing: the kernel cannot change the attribute.
 */
#ifndef _EMUGPU_CACHING_H
#define _EMUGPU_CACHING_H

#include <linux/mm.h>

#ifdef CONFIG_X86
#include <asm/set_memory.h>

/* Returns 0, or -errno without a change. */
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
