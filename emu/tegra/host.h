/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mmap() of blocks that are EMUGPU_ALLOC_HOST. The offset is the GPU address.
 * A mapping keeps the block's memory, whatever becomes of the block.
 */
#ifndef _EMUGPU_HOST_H
#define _EMUGPU_HOST_H

struct vm_area_struct;

/* ENOENT no such block; EINVAL not within one that is HOST, or not MAP_SHARED. mmap lock held. */
int emugpu_host_mmap(struct vm_area_struct *vma);

#endif
