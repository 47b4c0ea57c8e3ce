/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Views: mappings of a range of memory by the CPU, through mmap() of the
 * dma-buf that shows it. They are made of p2pdma pages, one at each fault.
 *
 * A view ends with its GPU, or with its dma-buf where that is a dynamic one;
 * what is touched afterwards is a SIGBUS. A child of fork() has none, unless its parent
 * asked for that by MADV_DOFORK.
 */
#ifndef _EMUGPU_VIEW_H
#define _EMUGPU_VIEW_H

#include <linux/list.h>
#include <linux/types.h>

struct address_space;
struct emugpu_gpu;
struct emugpu_memory;
struct vm_area_struct;

/* All views of one dma-buf */
struct emugpu_views {
	struct list_head node;		/* in the list of those with mappings; list lock */
	u32 count;			/* of mappings; list lock */
	struct address_space *mapping;	/* the dma-buf's, valid while @count */
	struct emugpu_memory *memory;	/* a reference of the dma-buf's, until @ended */
	u64 offset;			/* in it */
	bool ended;			/* view lock */
};

void emugpu_views_init(struct emugpu_views *views, struct emugpu_memory *memory, u64 offset);

/* -ENOTSUPP the GPU has no such pages; -ENODEV it is gone; -EINVAL a private mapping */
int emugpu_views_mmap(struct emugpu_views *views, struct vm_area_struct *vma);

/* Whether there is one of @memory, touched or not */
bool emugpu_views_show(const struct emugpu_memory *memory);

/* In between no page comes in: who touches one waits. Within the API lock and the window lock */
void emugpu_views_stop(void);
void emugpu_views_go_on(void);

/* No page comes in any more, and @memory may go; API lock held. emugpu_views_zap() must follow, without it. */
void emugpu_views_end(struct emugpu_views *views);
void emugpu_views_zap(struct emugpu_views *views);

/* Both for all of a GPU that is gone */
void emugpu_views_end_gpu(const struct emugpu_gpu *gpu);

#endif
