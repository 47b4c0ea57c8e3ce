/* SPDX-License-Identifier: GPL-2.0 */
/* The CPU's views of a region: mmap() of /dev/peerpin behind the epochs. */
#ifndef _PEERPIN_CPUMAP_H
#define _PEERPIN_CPUMAP_H

#include <linux/types.h>

struct peerpin_region;
struct vm_area_struct;

/**
 * pp_cpumap_mmap() - make @vma show @r
 * @offset: bytes from the region's start, a multiple of PAGE_SIZE
 *
 * Context: mmap(), by the process that pinned, of the file that knows @r.
 * Return: 0; -EINVAL private, or not within the region; -ESTALE; -EOPNOTSUPP
 * not for the CPU; -ENOMEM; -EIO.
 */
int pp_cpumap_mmap(struct peerpin_region *r, struct vm_area_struct *vma,
		   u64 offset);

/**
 * pp_cpumap_zap() - no CPU reaches the region by any view any more
 *
 * Its state has ended, and since then there was a moment without users. When
 * another thread is at it already this returns at once; that thread is a user
 * until it is done.
 * Context: process, sleeps for locks of the memory manager only; called again,
 * does nothing.
 */
void pp_cpumap_zap(struct peerpin_region *r);

#endif
