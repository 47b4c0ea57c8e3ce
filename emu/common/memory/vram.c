// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/swap.h>

#include "p2pmem.h"
#include "vram.h"

static bool scatter = true;
module_param(scatter, bool, 0444);
MODULE_PARM_DESC(scatter, "keep neighbouring pages of a block apart (default 1); 0: lowest free pages first");

void emugpu_vram_scatter(bool on)
{
	WRITE_ONCE(scatter, on);
}

/* The seed is fixed: the shuffle is the same at each load, so that a failing test fails again. */
static u32 shuffle_next(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void shuffle(u32 *pages, u32 n)
{
	u32 i, other, state = n;

	for (i = n; i > 1; i--) {
		other = shuffle_next(&state) % i;
		swap(pages[i - 1], pages[other]);
	}
}

static int cmp_descending(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? 1 : -(x > y);
}

int emugpu_vram_init(struct emugpu_vram *vram, u32 npages)
{
	u32 i;

	vram->free = kvmalloc_array(npages, sizeof(*vram->free), GFP_KERNEL);
	vram->last = kvcalloc(npages, sizeof(*vram->last), GFP_KERNEL);
	if (!vram->free || !vram->last) {
		kvfree(vram->free);
		kvfree(vram->last);
		return -ENOMEM;
	}
	for (i = 0; i < npages; i++)
		vram->free[i] = i;
	if (scatter)
		shuffle(vram->free, npages);
	vram->nfree = npages;
	vram->npages = npages;
	mutex_init(&vram->lock);
	return 0;
}

void emugpu_vram_destroy(struct emugpu_vram *vram)
{
	kvfree(vram->last);
	mutex_destroy(&vram->lock);
	kvfree(vram->free);
}

static bool adjacent(u32 a, u32 b)
{
	return a + 1 == b || b + 1 == a;
}

/*
 * Moves a page that is not adjacent to @prev to the top of the stack. Only two pages are adjacent
 * to @prev, so one of the three topmost pages is suitable.
 */
static void prepare_top(struct emugpu_vram *vram, u32 prev)
{
	u32 *top = &vram->free[vram->nfree - 1];
	u32 i;

	for (i = 0; i < min(3u, vram->nfree); i++) {
		if (adjacent(top[-(int)i], prev))
			continue;
		swap(*top, top[-(int)i]);
		return;
	}
}

static void take(struct emugpu_vram *vram, u32 *pages, u32 n)
{
	bool apart = READ_ONCE(scatter);
	u32 i;

	if (!apart)
		sort(vram->free, vram->nfree, sizeof(*vram->free), cmp_descending, NULL);
	for (i = 0; i < n; i++) {
		if (apart && i)
			prepare_top(vram, pages[i - 1]);
		pages[i] = vram->free[--vram->nfree];
	}
}

static void put(struct emugpu_vram *vram, u32 page)
{
	if (!vram->cpu || emugpu_p2pmem_is_home(vram->cpu, page))
		vram->free[vram->nfree++] = page;
	else
		vram->free[vram->npages - ++vram->naway] = page;
}

/*
 * Frees away pages (vram.h) that are home again. The away page nearest to the free pages fills the
 * gap. The loop has already checked that page.
 */
static void fetch_home(struct emugpu_vram *vram)
{
	u32 *end = &vram->free[vram->npages];
	u32 i, page;

	for (i = vram->naway; i; i--) {
		page = end[-(int)i];
		if (!emugpu_p2pmem_is_home(vram->cpu, page))
			continue;
		end[-(int)i] = end[-(int)vram->naway--];
		vram->free[vram->nfree++] = page;
	}
}

void emugpu_vram_forget_cpu(struct emugpu_vram *vram)
{
	mutex_lock(&vram->lock);
	fetch_home(vram);
	vram->cpu = NULL;
	mutex_unlock(&vram->lock);
}

u32 emugpu_vram_nr_free(struct emugpu_vram *vram)
{
	u32 n;

	mutex_lock(&vram->lock);
	fetch_home(vram);
	n = vram->nfree;
	mutex_unlock(&vram->lock);
	return n;
}

int emugpu_vram_alloc(struct emugpu_vram *vram, u32 *pages, u32 n)
{
	int err = -ENOMEM;

	mutex_lock(&vram->lock);
	fetch_home(vram);
	if (n <= vram->nfree) {
		take(vram, pages, n);
		err = 0;
	}
	mutex_unlock(&vram->lock);
	return err;
}

/* Pushes the first page first, so that the next owner gets the pages in reverse order. */
void emugpu_vram_free(struct emugpu_vram *vram, const u32 *pages, u32 n)
{
	u32 i;

	mutex_lock(&vram->lock);
	for (i = 0; i < n; i++)
		put(vram, pages[i]);
	mutex_unlock(&vram->lock);
}
