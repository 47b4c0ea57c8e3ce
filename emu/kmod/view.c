// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>

#include "compat.h"
#include "driver.h"
#include "gpu.h"
#include "join.h"
#include "memory.h"
#include "p2pmem.h"
#include "view.h"

/*
 * Lock order
 *	mmap lock of a process -> list lock -> view lock
 *	API lock -> window lock -> list lock
 * A fault inserts a page with the view lock held shared. The thread that ends views takes the view
 * lock exclusively once. From then on every fault sees @ended or @gone, so the thread can unmap the
 * pages inserted before.
 */
static DECLARE_RWSEM(view_rwsem);
static DEFINE_MUTEX(list_lock);
static LIST_HEAD(all_views);

void emugpu_views_init(struct emugpu_views *views, struct emugpu_memory *memory, u64 offset, bool cached)
{
	views->cached = cached;
	views->memory = memory;
	views->offset = offset;
}

/* -EBUSY of vm_insert_page() is no error: another thread has inserted the page already. */
static vm_fault_t insert(const struct emugpu_memory *memory, u64 offset, struct vm_fault *vmf)
{
	u32 page = memory->pages[offset / EMUGPU_PAGE_SIZE];
	unsigned long at = vmf->address & PAGE_MASK;
	u64 in_page = offset % EMUGPU_PAGE_SIZE;
	int err;

	if (vmf->vma->vm_flags & VM_PFNMAP)
		return vmf_insert_pfn(vmf->vma, at, PHYS_PFN(emugpu_gpu_page_phys(memory->gpu, page) + in_page));
	err = vm_insert_page(vmf->vma, at, emugpu_p2pmem_page(memory->gpu->vram.cpu, page) + in_page / PAGE_SIZE);
	if (err == -ENOMEM)
		return VM_FAULT_OOM;
	return err && err != -EBUSY ? VM_FAULT_SIGBUS : VM_FAULT_NOPAGE;
}

static vm_fault_t bring_in(const struct emugpu_views *views, struct vm_fault *vmf)
{
	if (views->ended || READ_ONCE(views->memory->gpu->gone))
		return VM_FAULT_SIGBUS;
	return insert(views->memory, views->offset + ((u64)vmf->pgoff << PAGE_SHIFT), vmf);
}

void emugpu_views_stop(void)
{
	down_write(&view_rwsem);
}

void emugpu_views_go_on(void)
{
	up_write(&view_rwsem);
}

static vm_fault_t view_fault(struct vm_fault *vmf)
{
	vm_fault_t ret;

	down_read(&view_rwsem);
	ret = bring_in(vmf->vma->vm_private_data, vmf);
	up_read(&view_rwsem);
	return ret;
}

static void view_open(struct vm_area_struct *vma)
{
	struct emugpu_views *views = vma->vm_private_data;

	mutex_lock(&list_lock);
	if (!views->count++) {
		views->mapping = vma->vm_file->f_mapping;
		list_add(&views->node, &all_views);
	}
	mutex_unlock(&list_lock);
}

static void view_close(struct vm_area_struct *vma)
{
	struct emugpu_views *views = vma->vm_private_data;

	mutex_lock(&list_lock);
	if (!--views->count)
		list_del(&views->node);
	mutex_unlock(&list_lock);
}

static const struct vm_operations_struct view_ops = {
	.open = view_open,
	.close = view_close,
	.fault = view_fault,
};

bool emugpu_views_own(const struct vm_area_struct *vma)
{
	return vma->vm_ops == &view_ops;
}

static int check_locked(const struct emugpu_views *views, bool *has_pages)
{
	const struct emugpu_gpu *gpu = views->ended ? NULL : views->memory->gpu;

	if (!gpu || READ_ONCE(gpu->gone))
		return -ENODEV;
	*has_pages = gpu->vram.cpu;
	return *has_pages || emugpu_driver_since(emugpu_gpu_is_coherent() ? 580 : 610) ? 0 : -ENOTSUPP;
}

static int check(const struct emugpu_views *views, bool *has_pages)
{
	int err;

	down_read(&view_rwsem);
	err = check_locked(views, has_pages);
	up_read(&view_rwsem);
	return err;
}

int emugpu_views_mmap(struct emugpu_views *views, struct vm_area_struct *vma)
{
	bool has_pages;
	int err = check(views, &has_pages);

	if (err)
		return err;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, (has_pages ? VM_MIXEDMAP : VM_PFNMAP) | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	if (!views->cached)
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	vma->vm_private_data = views;
	vma->vm_ops = &view_ops;
	view_open(vma);
	return 0;
}

static void zap_locked(struct emugpu_views *views)
{
	lockdep_assert_held(&list_lock);
	unmap_mapping_range(views->mapping, 0, 0, 1);
}

void emugpu_views_end(struct emugpu_views *views)
{
	down_write(&view_rwsem);
	views->ended = true;
	up_write(&view_rwsem);
}

void emugpu_views_zap(struct emugpu_views *views)
{
	mutex_lock(&list_lock);
	if (views->count)
		zap_locked(views);
	mutex_unlock(&list_lock);
}

/* False for ended views: their memory pointer is invalid, and the thread that ended them unmaps their pages. */
static bool shows(const struct emugpu_views *views, const struct emugpu_gpu *gpu)
{
	return !views->ended && views->memory->gpu == gpu;
}

bool emugpu_views_show(const struct emugpu_memory *memory)
{
	const struct emugpu_views *views;
	bool found = false;

	mutex_lock(&list_lock);
	down_read(&view_rwsem);
	list_for_each_entry(views, &all_views, node)
		found |= !views->ended && emugpu_join_has(views->memory, memory);
	up_read(&view_rwsem);
	mutex_unlock(&list_lock);
	return found;
}

void emugpu_views_end_gpu(const struct emugpu_gpu *gpu)
{
	struct emugpu_views *views;

	mutex_lock(&list_lock);
	down_write(&view_rwsem);
	downgrade_write(&view_rwsem);
	list_for_each_entry(views, &all_views, node)
		if (shows(views, gpu))
			zap_locked(views);
	up_read(&view_rwsem);
	mutex_unlock(&list_lock);
}
