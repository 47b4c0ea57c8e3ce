/* SPDX-License-Identifier: GPL-2.0 */
/* Views: CPU mappings of a region, by mmap() of /dev/peerpin at PEERPIN_MMAP_OFFSET(id). */
#ifndef _PEERPIN_CPUMAP_H
#define _PEERPIN_CPUMAP_H

#include <linux/types.h>

struct peerpin_region;
struct vm_area_struct;

/**
 * pp_cpumap_mmap() - make @vma a view of @r
 * @offset: bytes from the region's start, a multiple of PAGE_SIZE
 *
 * Context: mmap() of the file that @r belongs to, by the process that opened this file.
 * Return: 0; -EINVAL a private mapping, or outside the region; -ESTALE; -EOPNOTSUPP the
 * CPU cannot map this memory; -ENOMEM; -EIO.
 */
int pp_cpumap_mmap(struct peerpin_region *r, struct vm_area_struct *vma,
		   u64 offset);

/**
 * pp_cpumap_zap() - empty all views of a region
 *
 * The caller has waited until @users was 0 after the region's end. If another thread is emptying
 * the views, the call returns at once; that thread is a user until the views are empty.
 * Context: process, sleeps for locks of the memory manager only. A second call does
 * nothing.
 */
void pp_cpumap_zap(struct peerpin_region *r);

#endif
