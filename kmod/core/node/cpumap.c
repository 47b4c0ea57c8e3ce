// SPDX-License-Identifier: GPL-2.0
/*
 * A view owns no pages. Page faults fill its page table; the faulting thread is a user
 * of the region. The end of the region empties the page table, and later faults fail.
 * So a view may outlive its region; every access to such a view is a SIGBUS.
 *
 * Each open file has its own address space. A region's views lie there at the
 * mmap() offsets of the region's id. The end of the region finds the views by these
 * offsets, so mremap() and partial munmap() do not matter. Views of an older region
 * with the same id are empty and stay empty.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include "cpumap.h"
#include "../region/extents.h"
#include "../region/region.h"
#include "../../compat/compat.h"

/** struct pp_piece - an extent of a region; @start is the offset of the extent in the region */
struct pp_piece {
	u64 start;
	phys_addr_t phys;
};

/**
 * struct pp_cpumap - shared by the views of a region, from the first view to the region's end
 * @mapping: the file's address space, which stays: close() ends the region, then frees the file
 * @combined: the memory type of the pieces is reserved as write-combined
 * @end: sum of the lengths of all pieces
 * @count: number of pieces
 */
struct pp_cpumap {
	struct address_space *mapping;
	bool combined;
	u64 end;
	u32 count;
	struct pp_piece at[];
};

#define SPAN_PAGES (PEERPIN_MMAP_SPAN >> PAGE_SHIFT)

/* ---- struct pp_cpumap ---------------------------------------------------------- */

static u64 piece_end(const struct pp_cpumap *c, u32 i)
{
	return i + 1 < c->count ? c->at[i + 1].start : c->end;
}

static void cpumap_release_first(struct pp_cpumap *c, u32 n)
{
	while (n--)
		arch_io_free_memtype_wc(c->at[n].phys,
					piece_end(c, n) - c->at[n].start);
}

/*
 * x86 allows one memory type for a physical range in the whole kernel. If another driver
 * has mapped a part with another type, the views get that type: slower, still correct.
 */
static int cpumap_reserve(struct pp_cpumap *c)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < c->count && !ret; i++)
		ret = arch_io_reserve_memtype_wc(c->at[i].phys,
						 piece_end(c, i) - c->at[i].start);
	c->combined = !ret;
	if (ret)
		cpumap_release_first(c, i - 1);
	return ret == -ENOMEM ? ret : 0;
}

static void cpumap_free(struct pp_cpumap *c)
{
	if (c->combined)
		cpumap_release_first(c, c->count);
	kvfree(c);
}

static struct pp_cpumap *cpumap_alloc(u32 count)
{
	struct pp_cpumap *c;

	c = kvzalloc(struct_size(c, at, count), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (c)
		c->count = count;
	return c;
}

static int cpumap_fill(struct pp_cpumap *c, struct peerpin_region *r)
{
	int ret = pp_region_enter(r);
	u32 i;

	if (ret)
		return ret;
	for (i = 0; i < c->count; i++, cond_resched()) {
		c->at[i] = (struct pp_piece){ c->end, r->extents.at[i].phys };
		c->end += r->extents.at[i].length;
	}
	pp_region_leave(r);
	return 0;
}

/* Allocates memory while the caller is not a user. */
static struct pp_cpumap *cpumap_new(struct peerpin_region *r)
{
	u32 count = pp_extents_counted(r);
	struct pp_cpumap *c;
	int ret;

	if (!count)
		return ERR_PTR(-ESTALE);
	c = cpumap_alloc(count);
	if (!c)
		return ERR_PTR(-ENOMEM);
	ret = cpumap_fill(c, r);
	if (!ret && r->caching == PEERPIN_CACHING_COMBINED && !r->provider->page_backed)
		ret = cpumap_reserve(c);
	if (!ret)
		return c;
	cpumap_free(c);
	return ERR_PTR(ret);
}

/* Return: 0, or -ESTALE if the region is not live. @there: filled in: has @r a pp_cpumap? */
static int cpumap_look(struct peerpin_region *r, bool *there)
{
	int ret;

	spin_lock_irq(&r->lock);
	ret = r->state == PP_LIVE ? 0 : -ESTALE;
	*there = r->cpumap;
	spin_unlock_irq(&r->lock);
	return ret;
}

/* If two threads make a cpumap, the first wins. After the region's end no cpumap is published. */
static int cpumap_publish(struct peerpin_region *r, struct pp_cpumap *c)
{
	int ret = 0;

	spin_lock_irq(&r->lock);
	if (r->state != PP_LIVE)
		ret = -ESTALE;
	else if (!r->cpumap)
		swap(r->cpumap, c);
	spin_unlock_irq(&r->lock);
	if (c)
		cpumap_free(c);
	return ret;
}

static int cpumap_make(struct peerpin_region *r, struct address_space *mapping)
{
	struct pp_cpumap *c;
	bool there;
	int ret;

	ret = cpumap_look(r, &there);
	if (ret || there)
		return ret;
	ret = pp_extents_read(r);
	if (ret)
		return ret;
	c = cpumap_new(r);
	if (IS_ERR(c))
		return PTR_ERR(c);
	c->mapping = mapping;
	return cpumap_publish(r, c);
}

/* Only one thread gets the cpumap. This thread is a user until it has emptied the views. */
static struct pp_cpumap *cpumap_take(struct peerpin_region *r)
{
	struct pp_cpumap *c = NULL;

	spin_lock_irq(&r->lock);
	swap(r->cpumap, c);
	if (c)
		r->users++;
	spin_unlock_irq(&r->lock);
	return c;
}

void pp_cpumap_zap(struct peerpin_region *r)
{
	struct pp_cpumap *c = cpumap_take(r);

	if (!c)
		return;
	unmap_mapping_pages(c->mapping, r->id * SPAN_PAGES, r->length >> PAGE_SHIFT, true);
	cpumap_free(c);
	pp_region_leave(r);
}

/* ---- a view -------------------------------------------------------------------- */

static void view_open(struct vm_area_struct *vma)
{
	pp_region_get(vma->vm_private_data);
}

static void view_close(struct vm_area_struct *vma)
{
	pp_region_put(vma->vm_private_data);
}

static int view_no_entry(pte_t *pte, unsigned long addr, void *data)
{
	return 0;
}

/*
 * A user must not wait for memory, so call this before pp_region_enter(). The page table
 * stays, because the kernel holds the mmap lock or the VMA lock during a fault.
 */
static int view_make_table(const struct vm_fault *vmf)
{
	return apply_to_page_range(vmf->vma->vm_mm, vmf->address & PAGE_MASK,
				   PAGE_SIZE, view_no_entry, NULL);
}

/* The last piece that begins at or before @offset */
static u32 cpumap_find(const struct pp_cpumap *c, u64 offset)
{
	u32 low = 0, high = c->count, mid;

	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (c->at[mid].start <= offset)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* Fills the part of the view that one page table covers: large views take few faults. */
static vm_fault_t view_fill(const struct pp_cpumap *c, struct vm_area_struct *vma,
			    unsigned long addr, unsigned long end, u64 offset)
{
	vm_fault_t ret = VM_FAULT_NOPAGE;
	u32 i = cpumap_find(c, offset);

	for (; addr < end && ret == VM_FAULT_NOPAGE; addr += PAGE_SIZE) {
		while (offset >= piece_end(c, i))
			i++;
		ret = vmf_insert_pfn(vma, addr,
				     PHYS_PFN(c->at[i].phys + offset - c->at[i].start));
		offset += PAGE_SIZE;
	}
	return ret;
}

static vm_fault_t view_fill_around(struct peerpin_region *r, struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long start = max(vma->vm_start, vmf->address & PMD_MASK);
	unsigned long end = pmd_addr_end(vmf->address, vma->vm_end);
	unsigned long page = vma->vm_pgoff % SPAN_PAGES +
			     PHYS_PFN(start - vma->vm_start);

	return view_fill(r->cpumap, vma, start, end, PFN_PHYS(page));
}

/*
 * @cpumap of a live region stays while the caller is a user. The thread that ends the region
 * first waits for users, so it also empties the entries that this fault fills.
 */
static vm_fault_t view_fault(struct vm_fault *vmf)
{
	struct peerpin_region *r = vmf->vma->vm_private_data;
	vm_fault_t ret;

	if (view_make_table(vmf))
		return VM_FAULT_OOM;
	if (pp_region_enter(r))
		return VM_FAULT_SIGBUS;
	ret = view_fill_around(r, vmf);
	pp_region_leave(r);
	return ret;
}

static const struct vm_operations_struct view_ops = {
	.open = view_open,
	.close = view_close,
	.fault = view_fault,
};

static pgprot_t view_prot(const struct peerpin_region *r, pgprot_t prot)
{
	if (!r->provider->page_backed)
		prot = pgprot_decrypted(prot);
	switch (r->caching) {
	case PEERPIN_CACHING_COMBINED:
		return pgprot_writecombine(prot);
	case PEERPIN_CACHING_UNCACHED:
		return pgprot_noncached(prot);
	default:
		return prot;
	}
}

static void view_set(struct peerpin_region *r, struct vm_area_struct *vma)
{
	vm_flags_mod(vma, VM_IO | VM_PFNMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, 0);
	vma->vm_page_prot = view_prot(r, vma->vm_page_prot);
	pp_region_get(r);
	vma->vm_private_data = r;
	vma->vm_ops = &view_ops;
}

static int view_check(const struct peerpin_region *r, const struct vm_area_struct *vma, u64 offset)
{
	if (!(vma->vm_flags & VM_MAYSHARE))	/* O_RDONLY clears VM_SHARED */
		return -EINVAL;
	if (r->caching == PEERPIN_CACHING_NONE)
		return -EOPNOTSUPP;
	if (offset > r->length ||
	    vma->vm_end - vma->vm_start > r->length - offset)
		return -EINVAL;
	return 0;
}

int pp_cpumap_mmap(struct peerpin_region *r, struct vm_area_struct *vma, u64 offset)
{
	int ret = view_check(r, vma, offset);

	if (!ret)
		ret = cpumap_make(r, vma->vm_file->f_mapping);
	if (!ret)
		view_set(r, vma);
	return ret;
}
