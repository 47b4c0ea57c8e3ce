// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/printk.h>
#include <linux/sched.h>

#include "../include/emugpu.h"
#include "api.h"
#include "compat.h"
#include "cover.h"
#include "gpu.h"
#include "space.h"
#include "spill.h"
#include "window.h"

enum {
	PAGES_AT_ONCE = 16,
	PROBES = 1 << 18,	/* of processes' memory in one search; a probe is up to PAGES_AT_ONCE pages, or one missing page */
};

struct search {
	const struct emugpu_cover *cover;
	unsigned long *found;
	unsigned int probes;	/* left */
};

static void search_bytes(const struct search *search, const void *bytes, size_t size)
{
	size_t at;
	int i;

	for (at = 0; at < size; at += EMUGPU_COVER_STEP) {
		i = emugpu_cover_source(search->cover, READ_ONCE(*(const u64 *)(bytes + at)));
		if (i >= 0)
			__set_bit(i, search->found);
	}
}

/* ---- memory of the GPU ------------------------------------------------------- */

static void search_vram(const struct search *search, const struct emugpu_gpu *gpu)
{
	const void *p;
	u32 page;

	for (page = 0; page < gpu->bar1.npages; page++) {
		if (!gpu->bar1.refs[page] || emugpu_cover_has(search->cover, gpu, page))
			continue;
		p = emugpu_window_page(gpu, page);
		if (!IS_ERR(p))
			search_bytes(search, p, EMUGPU_PAGE_SIZE);
	}
}

static void search_gpus(const struct search *search)
{
	struct emugpu_gpu *gpu;
	u32 i;

	for (i = 0; i < EMUGPU_GPUS_MAX; i++) {
		gpu = emugpu_gpu_get(i);
		if (!gpu)
			continue;
		search_vram(search, gpu);
		emugpu_gpu_put(gpu);
	}
}

/* ---- memory of processes ----------------------------------------------------- */

static void search_page(const struct search *search, struct page *page)
{
	const void *p = kmap_local_page(page);

	search_bytes(search, p, PAGE_SIZE);
	kunmap_local(p);
}

/* If no page table exists for @at, returns the end of the range without one, at most @end; else @at. */
static unsigned long after_hole(struct mm_struct *mm, unsigned long at, unsigned long end)
{
	pgd_t *pgd = pgd_offset(mm, at);
	p4d_t *p4d;
	pud_t *pud;

	if (pgd_none(READ_ONCE(*pgd)))
		return pgd_addr_end(at, end);
	p4d = p4d_offset(pgd, at);
	if (p4d_none(READ_ONCE(*p4d)))
		return p4d_addr_end(at, end);
	pud = pud_offset(p4d, at);
	if (pud_none(READ_ONCE(*pud)))
		return pud_addr_end(at, end);
	if (!pud_leaf(*pud) && pmd_none(READ_ONCE(*pmd_offset(pud, at))))
		return pmd_addr_end(at, end);
	return at;
}

/* Returns the number of pages from @at on that were searched or are missing; @n if the process is being killed. */
static unsigned long search_pages(const struct search *search, struct mm_struct *mm, unsigned long at, unsigned long n)
{
	struct page *pages[PAGES_AT_ONCE];
	long got, i;

	got = emugpu_get_present_pages(mm, at, min_t(unsigned long, n, PAGES_AT_ONCE), pages);
	for (i = 0; i < got; i++) {
		search_page(search, pages[i]);
		put_page(pages[i]);
	}
	if (got < 0)
		return got == -EFAULT ? 1 : n;
	return max(got, 1L);
}

static void search_vma(struct search *search, const struct vm_area_struct *vma)
{
	unsigned long at = vma->vm_start, next;

	for (; at < vma->vm_end && search->probes; at = next) {
		next = after_hole(vma->vm_mm, at, vma->vm_end);
		search->probes--;
		if (next == at)
			next += PAGE_SIZE * search_pages(search, vma->vm_mm, at, (vma->vm_end - at) / PAGE_SIZE);
	}
}

/* Skips GPU memory, which search_vram() searches, and other memory that a driver has mapped for the process. */
static bool is_memory(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_WRITE && !(vma->vm_flags & (VM_IO | VM_PFNMAP | VM_MIXEDMAP));
}

static void search_space(struct mm_struct *mm, void *data)
{
	VMA_ITERATOR(vmi, mm, 0);
	struct vm_area_struct *vma;

	for_each_vma(vmi, vma) {
		if (is_memory(vma))
			search_vma(data, vma);
		cond_resched();
	}
}

void emugpu_spill_search(const struct emugpu_cover *cover, unsigned long *found)
{
	struct search search = { cover, found, PROBES };

	emugpu_api_assert_held();
	if (!emugpu_cover_size(cover))
		return;
	search_gpus(&search);
	if (emugpu_spaces_visit(search_space, &search) == -EAGAIN)
		emugpu_spaces_skipped();
	if (!search.probes)
		pr_info_ratelimited("processes have too much memory; not all of it was searched for copies of revoked pages\n");
}

bool emugpu_spill_is_used(const struct emugpu_cover *cover)
{
	DECLARE_BITMAP(copied, EMUGPU_COVER_MAX) = { };
	u32 i;

	for (i = 0; i < emugpu_cover_size(cover); i++)
		if (emugpu_cover_is_changed(cover, i))
			return true;
	emugpu_spill_search(cover, copied);
	return !bitmap_empty(copied, EMUGPU_COVER_MAX);
}
