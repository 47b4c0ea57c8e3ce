/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _EMUGPU_SLAB_H
#define _EMUGPU_SLAB_H

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/types.h>

/*
 * For objects that the emulator allocates in a call of a consumer, or before a callback. They come from the slab
 * caches for reclaimable memory, where hardly any driver allocates. From the caches of GFP_KERNEL, the emulator often
 * got the object that the consumer had just freed, and slub_debug did not see the consumer's use of that object. Not
 * for vmalloc().
 */
#define EMUGPU_GFP (GFP_KERNEL | __GFP_RECLAIMABLE)

/* An array that kvfree() frees. kmalloc() takes larger memory from no slab cache. */
static inline void *emugpu_array(size_t n, size_t size)
{
	size_t bytes = array_size(n, size);

	return bytes <= KMALLOC_MAX_CACHE_SIZE ? kzalloc(bytes, EMUGPU_GFP) : kvzalloc(bytes, GFP_KERNEL);
}

/*
 * Whether @p points into an object that kfree() or kmem_cache_free() has freed. @p may have any value. Always false
 * without slub_debug=ZP, and with KASAN, which reports the access itself.
 */
bool emugpu_slab_is_freed(const void *p);

#endif
