/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mmap() of EMUGPU_ALLOC_HOST blocks. The offset is the GPU address. A mapping
 * keeps the memory even after the block is freed.
 */
#ifndef _EMUGPU_HOST_H
#define _EMUGPU_HOST_H

struct vm_area_struct;

/*
 * Errors: ENOENT: no such block; EINVAL: the range is not in one EMUGPU_ALLOC_HOST block, or the
 * mapping is not MAP_SHARED. mmap lock held.
 */
int emugpu_host_mmap(struct vm_area_struct *vma);

#endif
