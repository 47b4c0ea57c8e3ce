/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between the kernels we build on; nowhere else. */
#ifndef _PEERPIN_COMPAT_H
#define _PEERPIN_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "peerpin needs Linux 6.1 or later"
#endif

#ifndef CONFIG_64BIT
#error "peerpin needs a 64-bit kernel: a cookie is a long that must never wrap"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set,
				vm_flags_t clear)
{
	vma->vm_flags |= set;
	vma->vm_flags &= ~clear;
}
#endif

#endif
