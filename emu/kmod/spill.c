// SPDX-License-Identifier: GPL-2.0
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/highmem.h>
#include <linux/mm.h>
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
	STEP = 512,		/* distance of the words that are looked at, in bytes */
	PAGES_AT_ONCE = 16,
};

struct search {
	const struct emugpu_cover *cover;
	unsigned long *found;
};

static void search_bytes(const struct search *search, const void *bytes, size_t size)
{
	size_t at;
	int i;

	for (at = 0; at < size; at += STEP) {
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

/* ---- memory of processes ----------------------------------------------------- */

static void search_page(const struct search *search, struct page *page)
{
	const void *p = kmap_local_page(page);

	search_bytes(search, p, PAGE_SIZE);
	kunmap_local(p);
}

/* Returns the number of pages from @at on that were searched, or that no page table has. */
static unsigned long search_pages(const struct search *search, struct mm_struct *mm, unsigned long at, unsigned long n)
{
	struct page *pages[PAGES_AT_ONCE];
	long got, i;

	got = emugpu_get_present_pages(mm, at, min_t(unsigned long, n, PAGES_AT_ONCE), pages);
	for (i = 0; i < got; i++) {
		search_page(search, pages[i]);
		put_page(pages[i]);
	}
	return max(got, 1L);
}

/* Skips GPU memory that a driver has mapped for the process: search_vram() searches it. */
static bool is_memory(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_WRITE && !(vma->vm_flags & (VM_IO | VM_PFNMAP | VM_MIXEDMAP));
}

static void search_space(struct mm_struct *mm, void *data)
{
	VMA_ITERATOR(vmi, mm, 0);
	struct vm_area_struct *vma;
	unsigned long at;

	for_each_vma(vmi, vma) {
		if (!is_memory(vma))
			continue;
		for (at = vma->vm_start; at < vma->vm_end;)
			at += PAGE_SIZE * search_pages(data, mm, at, (vma->vm_end - at) / PAGE_SIZE);
		cond_resched();
	}
}

void emugpu_spill_search(const struct emugpu_cover *cover, unsigned long *found)
{
	struct search search = { cover, found };

	emugpu_api_assert_held();
	if (!emugpu_cover_size(cover))
		return;
	search_vram(&search, emugpu_cover_gpu(cover));
	emugpu_spaces_visit(search_space, &search);
}
