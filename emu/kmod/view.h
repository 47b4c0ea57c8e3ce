/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Views: CPU mappings of a dma-buf, made by mmap(). Each page fault inserts one page: the p2pdma page
 * of the BAR if the GPU has such pages, else a page without struct page, as NVIDIA's driver does. A
 * view holds its dma-buf, and so the memory.
 *
 * A view ends when its GPU is removed, or when its dynamic dma-buf is revoked. Later accesses get
 * SIGBUS. A child process inherits a view only if its parent called madvise(MADV_DOFORK).
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
	struct list_head node;		/* entry in the list of all structures with @count > 0; list lock */
	u32 count;			/* number of mappings; list lock */
	struct address_space *mapping;	/* page cache mapping of the dma-buf's file; valid while @count > 0 */
	struct emugpu_memory *memory;	/* joined memory (join.h) of the dma-buf, which holds the reference; valid until @ended */
	u64 offset;			/* start of the dma-buf in @memory, bytes */
	bool cached;			/* not write-combined */
	bool ended;			/* no page is inserted any more; view lock */
};

void emugpu_views_init(struct emugpu_views *views, struct emugpu_memory *memory, u64 offset, bool cached);

/*
 * Errors: -ENOTSUPP: the played driver maps no dma-bufs of this GPU (driver.h), and the GPU has no
 * p2pdma pages; -ENODEV: the GPU is gone, or the dma-buf is revoked; -EINVAL: a private mapping, or
 * a range past the end of the dma-buf.
 */
int emugpu_views_mmap(struct emugpu_views *views, struct vm_area_struct *vma);

/* Whether @vma is a view of a dma-buf. Its dma-buf has its own lifetime, whatever pins the memory has. */
bool emugpu_views_own(const struct vm_area_struct *vma);

/* Whether @memory has a CPU mapping, even a mapping without an inserted page */
bool emugpu_views_show(const struct emugpu_memory *memory);

/* Between these two calls, page faults of views wait, so no page is inserted. API lock and window lock held. */
void emugpu_views_stop(void);
void emugpu_views_go_on(void);

/*
 * Ends the views of a dma-buf in two steps, because of the lock order. emugpu_views_end(), under
 * the API lock, stops the insertion of pages. emugpu_views_zap() must follow, without the API lock,
 * and unmaps the inserted pages; the caller keeps the memory until then.
 */
void emugpu_views_end(struct emugpu_views *views);
void emugpu_views_zap(struct emugpu_views *views);

/* Ends and unmaps all views of a GPU that is gone. */
void emugpu_views_end_gpu(const struct emugpu_gpu *gpu);

#endif
