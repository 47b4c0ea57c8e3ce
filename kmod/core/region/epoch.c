// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include "../../compat/compat.h"
#include "../../uapi/peerpin.h"
#include "epoch.h"

enum {
	WORDS_PER_PAGE = PAGE_SIZE / sizeof(u32),
	PAGES = (PEERPIN_MAX_REGIONS + PEERPIN_MAX_WATCHES) / WORDS_PER_PAGE,
};

void pp_epochs_init(struct pp_epochs *e)
{
	xa_init_flags(&e->pages, XA_FLAGS_ACCOUNT);
}

/* If two threads find the page missing, the slower thread frees its own page. */
static struct page *epoch_page(struct pp_epochs *e, unsigned long index)
{
	struct page *page = xa_load(&e->pages, index);
	struct page *old;

	if (page)
		return page;
	page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page)
		return NULL;
	old = xa_cmpxchg(&e->pages, index, NULL, page, GFP_KERNEL_ACCOUNT);
	if (!old)
		return page;
	__free_page(page);
	return xa_is_err(old) ? NULL : old;
}

u32 *pp_epoch_word(struct pp_epochs *e, u32 slot)
{
	struct page *page = epoch_page(e, slot / WORDS_PER_PAGE);

	if (!page)
		return NULL;
	return (u32 *)page_address(page) + slot % WORDS_PER_PAGE;
}

void pp_epochs_free(struct pp_epochs *e)
{
	struct page *page;
	unsigned long i;

	xa_for_each(&e->pages, i, page)
		put_page(page);
	xa_destroy(&e->pages);
}

static vm_fault_t epoch_fault(struct vm_fault *vmf)
{
	struct pp_epochs *e = vmf->vma->vm_private_data;
	struct page *page;

	if (vmf->pgoff >= PAGES)
		return VM_FAULT_SIGBUS;
	page = epoch_page(e, vmf->pgoff);
	if (!page)
		return VM_FAULT_OOM;
	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct epoch_vm_ops = {
	.fault = epoch_fault,
};

int pp_epochs_mmap(struct pp_epochs *e, struct vm_area_struct *vma)
{
	if (vma->vm_pgoff + vma_pages(vma) > PAGES)
		return -EINVAL;
	if (!(vma->vm_flags & VM_MAYSHARE))	/* O_RDONLY clears VM_SHARED */
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);
	vma->vm_private_data = e;
	vma->vm_ops = &epoch_vm_ops;
	return 0;
}
