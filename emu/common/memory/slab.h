/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _EMUGPU_SLAB_H
#define _EMUGPU_SLAB_H

#include <linux/types.h>

/*
 * Whether @p points into an object that kfree() or kmem_cache_free() has freed. @p may have any value. Always false
 * without slub_debug=ZP, and with KASAN, which reports the access itself.
 */
bool emugpu_slab_is_freed(const void *p);

#endif
