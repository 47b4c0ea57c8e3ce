// SPDX-License-Identifier: GPL-2.0
#include <linux/bitops.h>
#include <linux/mm.h>

#include "../include/emugpu.h"
#include "compat.h"
#include "cpumap.h"
#include "gpu.h"
#include "space.h"
#include "view.h"

struct search {
	const struct emugpu_gpu *gpu;
	const unsigned long *pages;
	unsigned long *found;
};

static void search_vma(struct vm_area_struct *vma, const struct search *search)
{
	const struct emugpu_gpu *gpu = search->gpu;
	unsigned long at, pfn;
	phys_addr_t phys;

	for (at = vma->vm_start; at < vma->vm_end; at += PAGE_SIZE) {
		if (emugpu_follow_pfn(vma, at, &pfn))
			continue;
		phys = PFN_PHYS(pfn);
		if (phys < gpu->bar || phys - gpu->bar >= gpu->size)
			continue;
		if (test_bit((phys - gpu->bar) / EMUGPU_PAGE_SIZE, search->pages))
			__set_bit((phys - gpu->bar) / EMUGPU_PAGE_SIZE, search->found);
	}
}

static void search_space(struct mm_struct *mm, void *data)
{
	VMA_ITERATOR(vmi, mm, 0);
	struct vm_area_struct *vma;

	for_each_vma(vmi, vma)
		if (vma->vm_flags & (VM_IO | VM_PFNMAP) && !emugpu_views_own(vma))
			search_vma(vma, data);
}

int emugpu_cpumap_search(const struct emugpu_gpu *gpu, const unsigned long *pages, unsigned long *found)
{
	struct search search = { gpu, pages, found };

	return emugpu_spaces_visit(search_space, &search);
}
