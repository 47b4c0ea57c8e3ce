// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>

#include "block.h"
#include "compat.h"
#include "gpu.h"
#include "host.h"

static u64 address_of(pgoff_t pgoff)
{
	return (u64)pgoff << PAGE_SHIFT;
}

/* Called when a mapping is split: each part has a reference to the block. */
static void host_open(struct vm_area_struct *vma)
{
	struct emugpu_block *block = vma->vm_private_data;

	kref_get(&block->refs);
}

static void host_close(struct vm_area_struct *vma)
{
	emugpu_block_put(vma->vm_private_data);
}

/* Inserts ordinary pages, so that the program can pass them to any system call, also with O_DIRECT. */
static vm_fault_t host_fault(struct vm_fault *vmf)
{
	const struct emugpu_block *block = vmf->vma->vm_private_data;
	u64 va = address_of(vmf->pgoff);

	if (!emugpu_block_holds(block, va, PAGE_SIZE))
		return VM_FAULT_SIGBUS;
	vmf->page = emugpu_gpu_cpu_page(block->gpu, block->pages, va - block->va);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct host_ops = {
	.open = host_open,
	.close = host_close,
	.fault = host_fault,
};

static int check(const struct emugpu_block *block, const struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED) || !(block->flags & EMUGPU_ALLOC_HOST))
		return -EINVAL;
	if (!emugpu_block_holds(block, address_of(vma->vm_pgoff), vma->vm_end - vma->vm_start))
		return -EINVAL;
	return 0;
}

/*
 * VM_DONTCOPY: a child of fork() cannot use CUDA, and an inherited mapping would keep the parent's
 * file open. The parent can override VM_DONTCOPY by madvise(MADV_DOFORK).
 */
int emugpu_host_mmap(struct vm_area_struct *vma)
{
	struct emugpu_block *block = emugpu_block_get(address_of(vma->vm_pgoff));
	int err;

	if (!block)
		return -ENOENT;
	err = check(block, vma);
	if (err) {
		emugpu_block_put(block);
		return err;
	}
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND);
	if (block->flags & EMUGPU_ALLOC_WRITE_COMBINED)
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	vma->vm_private_data = block;
	vma->vm_ops = &host_ops;
	return 0;
}
