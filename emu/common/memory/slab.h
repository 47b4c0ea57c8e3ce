/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _EMUGPU_SLAB_H
#define _EMUGPU_SLAB_H

#include <linux/types.h>

/*
 * Whether @p, any value, points into an object that kfree() or kmem_cache_free() has freed. Only slub_debug=ZP shows
 * this. With KASAN returns false: KASAN reports the access itself.
 */
bool emugpu_slab_is_freed(const void *p);

#endif
