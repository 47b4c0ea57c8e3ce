// SPDX-License-Identifier: GPL-2.0
/*
 * CPU mappings of pinned memory. Page faults insert the pages. mmap() inserts none: a callback
 * finds a view only after mmap() has returned.
 */
#include <linux/mm.h>
#include <compat.h>
#include "pin.h"
#include "view.h"

static void view_open(struct vm_area_struct *vma)
{
	kref_get(&((struct direct_pin *)vma->vm_private_data)->ref);
}

static void view_close(struct vm_area_struct *vma)
{
	kref_put(&((struct direct_pin *)vma->vm_private_data)->ref, direct_pin_release);
}

/* The page offset within the pin */
static u64 view_offset(const struct direct_pin *pin, unsigned long pgoff)
{
	return ((u64)pgoff << PAGE_SHIFT) - DIRECT_MMAP_OFFSET(pin->handle);
}

static vm_fault_t view_fault(struct vm_fault *vmf)
{
	struct direct_pin *pin = vmf->vma->vm_private_data;
	u64 at = view_offset(pin, vmf->pgoff);
	vm_fault_t ret;
	u64 phys;

	if (!direct_pin_hold(pin, vmf->vma->vm_file))
		return VM_FAULT_SIGBUS;
	phys = pin->table->pages[at / DIRECT_PAGE_SIZE]->physical_address + at % DIRECT_PAGE_SIZE;
	ret = vmf_insert_pfn(vmf->vma, vmf->address, phys >> PAGE_SHIFT);
	direct_pin_unuse(pin);
	return ret;
}

static const struct vm_operations_struct view_ops = {
	.open = view_open,
	.close = view_close,
	.fault = view_fault,
};

static int view_make(struct direct_pin *pin, struct vm_area_struct *vma)
{
	u64 at = view_offset(pin, vma->vm_pgoff), length = vma->vm_end - vma->vm_start;

	if (!(vma->vm_flags & VM_SHARED) || at > pin->length || length > pin->length - at)
		return -EINVAL;
	vm_flags_mod(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY, 0);
	vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	vma->vm_ops = &view_ops;
	vma->vm_private_data = pin;
	view_open(vma);
	return 0;
}

int direct_view_mmap(struct file *filp, struct vm_area_struct *vma)
{
	u64 handle = (u64)vma->vm_pgoff << PAGE_SHIFT >> 32;
	struct direct_pin *pin;
	int ret;

	if (handle > INT_MAX)
		return -EINVAL;
	pin = direct_pin_use(filp, handle);
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	ret = view_make(pin, vma);
	direct_pin_unuse(pin);
	return ret;
}

void direct_view_zap(struct direct_pin *pin)
{
	if (pin->views)
		unmap_mapping_range(pin->views, DIRECT_MMAP_OFFSET(pin->handle), pin->length, 1);
}
