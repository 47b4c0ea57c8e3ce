/* SPDX-License-Identifier: GPL-2.0 */
/* mmap() of blocks: not supported, because the memory of discrete GPUs is not host memory. */
#ifndef _EMUGPU_HOST_H
#define _EMUGPU_HOST_H

#include <linux/errno.h>

struct vm_area_struct;

static inline int emugpu_host_mmap(struct vm_area_struct *vma)
{
	return -ENODEV;
}

#endif
