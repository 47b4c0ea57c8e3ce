/* SPDX-License-Identifier: GPL-2.0 */
/* The data of a dma-buf, for export.c and import.c */
#ifndef _EMUGPU_EXPORTED_H
#define _EMUGPU_EXPORTED_H

#include <linux/dma-resv.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/types.h>

#include "../include/emugpu.h"
#include "guard.h"
#include "memory.h"
#include "view.h"

struct dma_buf;
struct emugpu_cover;
struct part;
struct task_struct;

/*
 * Lock order: reservation lock -> API lock, as in NVIDIA's driver. An importer maps with the
 * reservation lock held, and the API lock protects BAR1. So the freeing thread
 *	1. sets @ended under the API lock,
 *	2. drops the API lock,
 *	3. takes the reservation lock of each dma-buf and notifies its importers.
 * A thread that maps between 1 and 3 finds @ended and fails. A thread that mapped before 1 holds
 * the reservation lock until its importer has stored the mapping. So step 3 finds the mapping
 * stored.
 *
 * The freeing thread must not take a reference to the dma-buf, because the count of its file may be
 * 0. The thread takes a reference to struct emugpu_exported instead, which contains the reservation lock.
 * ops_release() clears @dmabuf under that lock. So the freeing thread finds @dmabuf valid or NULL.
 */
struct emugpu_exported {
	struct kref refs;
	struct dma_resv resv;
	struct dma_buf *dmabuf;		/* the dma-buf, or NULL after ops_release(); reservation lock */
	struct list_head node;		/* after @ended: in the freeing thread's list */
	struct part *parts;		/* of a dynamic dma-buf */
	u32 nparts;			/* number of blocks */
	struct emugpu_memory *memory;	/* the blocks' memories, joined, with a reference; NULL when @unseen and not mapped */
	u64 offset;			/* start of the dma-buf in @memory, bytes */
	u64 size;
	bool uses_bar1;			/* importers use BAR1 */
	u32 nmaps;			/* number of mappings; together they use BAR1 once; API lock */
	bool ended;			/* the dma-buf is revoked (dynamic dma-bufs only); API lock */
	struct task_struct *notifier;	/* the thread that notifies importers; reservation lock; compared only */
	bool unseen;			/* @ended, and no CPU mapping shows the memory any more; API lock */
	struct emugpu_cover *cover;	/* hides freed memory that an importer has still mapped; NULL: none; API lock */
	struct emugpu_consumer blamed;	/* an importer that was notified, for look(); @function NULL: no importer */
	struct emugpu_views views;
};

static inline const u32 *emugpu_exported_pages(const struct emugpu_exported *exported)
{
	return &exported->memory->pages[exported->offset / EMUGPU_PAGE_SIZE];
}

static inline u32 emugpu_exported_npages(const struct emugpu_exported *exported)
{
	return DIV_ROUND_UP(exported->offset % EMUGPU_PAGE_SIZE + exported->size, EMUGPU_PAGE_SIZE);
}

/*
 * Frees the memory at the last unmap, or now if no importer has mapped it. Until the last unmap, the guard watches memory that
 * was freed. Takes the API lock and the window lock.
 */
void emugpu_exported_let_go(struct emugpu_exported *exported);

#endif
