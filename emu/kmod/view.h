/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Views: CPU mappings of a dma-buf by mmap(). They consist of p2pdma pages, inserted
 * one at each fault.
 *
 * A view ends with its GPU, or when its dynamic dma-buf is revoked; later accesses are
 * a SIGBUS. A child of fork() inherits no view, unless its parent called
 * madvise(MADV_DOFORK).
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
	struct list_head node;		/* in the list of all with @count > 0; list lock */
	u32 count;			/* number of mappings; list lock */
	struct address_space *mapping;	/* of the dma-buf; valid while @count > 0 */
	struct emugpu_memory *memory;	/* the dma-buf holds the reference; valid until @ended */
	u64 offset;			/* in @memory */
	bool ended;			/* view lock */
};

void emugpu_views_init(struct emugpu_views *views, struct emugpu_memory *memory, u64 offset);

/* -ENOTSUPP the GPU has no p2pdma pages; -ENODEV the GPU is gone; -EINVAL a private mapping */
int emugpu_views_mmap(struct emugpu_views *views, struct vm_area_struct *vma);

/* Whether there is a CPU mapping of @memory, even without a page inserted yet */
bool emugpu_views_show(const struct emugpu_memory *memory);

/* Between these two calls faults wait, so no page is inserted. API lock and window lock held. */
void emugpu_views_stop(void);
void emugpu_views_go_on(void);

/*
 * emugpu_views_end(): no page is inserted any more, and @memory may be dropped; API lock held.
 * emugpu_views_zap() must follow, without the API lock: it unmaps the inserted pages.
 */
void emugpu_views_end(struct emugpu_views *views);
void emugpu_views_zap(struct emugpu_views *views);

/* Ends and unmaps all views of a GPU that is gone. */
void emugpu_views_end_gpu(const struct emugpu_gpu *gpu);

#endif
