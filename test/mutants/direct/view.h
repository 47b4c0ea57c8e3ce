/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _DIRECT_VIEW_H
#define _DIRECT_VIEW_H

#include <linux/fs.h>
#include <linux/mm_types.h>

struct direct_pin;

int direct_view_mmap(struct file *filp, struct vm_area_struct *vma);

/* Unmap the pages of all views. A later access inserts a page again while the pin can be used. */
void direct_view_zap(struct direct_pin *pin);

#endif
