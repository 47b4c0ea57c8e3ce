// SPDX-License-Identifier: GPL-2.0
#include <linux/bug.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/kref.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "../include/emugpu.h"
#include "api.h"
#include "block.h"
#include "compat.h"
#include "driver.h"
#include "export.h"
#include "gpu.h"
#include "join.h"
#include "memory.h"
#include "route.h"
#include "segment.h"
#include "view.h"

MODULE_IMPORT_NS("DMA_BUF");

static bool dmabuf_dynamic;
module_param(dmabuf_dynamic, bool, 0644);
MODULE_PARM_DESC(dmabuf_dynamic, "freeing a block revokes its dma-bufs (default 0: they keep the memory)");

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
 * 0. The thread takes a reference to struct exported instead, which contains the reservation lock.
 * ops_release() clears @dmabuf under that lock. So the freeing thread finds @dmabuf valid or NULL.
 */
struct exported {
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
	bool unseen;			/* @ended, and no CPU mapping shows the memory any more; API lock */
	struct emugpu_views views;
};

/* A block of a dynamic dma-buf */
struct part {
	struct list_head node;		/* in block->exports; API lock */
	struct exported *exported;
};

static const u32 *pages(const struct exported *exported)
{
	return &exported->memory->pages[exported->offset / EMUGPU_PAGE_SIZE];
}

static u32 nr_pages(const struct exported *exported)
{
	return DIV_ROUND_UP(exported->offset % EMUGPU_PAGE_SIZE + exported->size, EMUGPU_PAGE_SIZE);
}

static void exported_release(struct kref *refs)
{
	struct exported *exported = container_of(refs, struct exported, refs);

	WARN_ON(exported->nmaps);
	if (exported->memory)
		emugpu_memory_put(exported->memory);
	kvfree(exported->parts);
	dma_resv_fini(&exported->resv);
	kfree(exported);
}

static void exported_put(struct exported *exported)
{
	kref_put(&exported->refs, exported_release);
}

/* ---- mappings --------------------------------------------------------------- */

static int check_alive(const struct exported *exported)
{
	emugpu_api_assert_held();
	return exported->ended || exported->memory->gpu->gone ? -ENODEV : 0;
}

static int use_locked(struct exported *exported)
{
	int err = check_alive(exported);

	if (!err && !exported->nmaps && exported->uses_bar1)
		err = emugpu_bar1_get(&exported->memory->gpu->bar1, pages(exported), nr_pages(exported));
	if (!err)
		exported->nmaps++;
	return err;
}

static int use(struct exported *exported)
{
	int err;

	emugpu_api_lock();
	err = use_locked(exported);
	emugpu_api_unlock();
	return err;
}

static void drop_memory(struct exported *exported)
{
	emugpu_memory_put(exported->memory);
	exported->memory = NULL;
}

static void unuse(struct exported *exported)
{
	emugpu_api_lock();
	if (!--exported->nmaps) {
		if (exported->uses_bar1)
			emugpu_bar1_put(&exported->memory->gpu->bar1, pages(exported), nr_pages(exported));
		if (exported->unseen)
			drop_memory(exported);
	}
	emugpu_api_unlock();
}

static bool needs_pages(const struct dma_buf_attachment *attachment)
{
	return attachment->importer_ops && !attachment->peer2peer;
}

/* If the DMA mapping fails, the error is -ENOMEM for any cause, as in NVIDIA's driver. */
static struct sg_table *ops_map(struct dma_buf_attachment *attachment, enum dma_data_direction direction)
{
	struct exported *exported = attachment->dmabuf->priv;
	struct sg_table *sgt;
	int err;

	if (needs_pages(attachment))
		return ERR_PTR(-ENOMEM);
	err = use(exported);
	if (err)
		return ERR_PTR(err);
	sgt = emugpu_segments_map(attachment->dev, exported->memory, exported->offset, exported->size);
	if (sgt)
		return sgt;
	unuse(exported);
	return ERR_PTR(-ENOMEM);
}

static void ops_unmap(struct dma_buf_attachment *attachment, struct sg_table *sgt, enum dma_data_direction direction)
{
	emugpu_segments_unmap(attachment->dev, sgt);
	unuse(attachment->dmabuf->priv);
}

/* ---- the other operations --------------------------------------------------- */

static int check_route(struct exported *exported, struct device *peer)
{
	int err;

	emugpu_api_lock();
	err = check_alive(exported);
	if (!err && !emugpu_route_is_supported(exported->memory->gpu, peer))
		err = -ENOTSUPP;
	emugpu_api_unlock();
	return err == -ENODEV ? 0 : err;	/* the importer learns of the end when it maps */
}

/*
 * As in NVIDIA's driver, accepts every static importer, even an importer that needs struct pages.
 * Drivers before 580 accept all importers.
 */
static int ops_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attachment)
{
	if (!emugpu_driver_since(580))
		return 0;
	if (needs_pages(attachment))
		return -ENOTSUPP;
	return check_route(dmabuf->priv, attachment->dev);
}

/* Only checks that the dma-buf is not revoked: GPU memory never moves. A pin does not prevent a revocation. */
static int ops_pin(struct dma_buf_attachment *attachment)
{
	int err;

	emugpu_api_lock();
	err = check_alive(attachment->dmabuf->priv);
	emugpu_api_unlock();
	return err;
}

static void ops_unpin(struct dma_buf_attachment *attachment)
{
}

static int ops_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct exported *exported = dmabuf->priv;

	return emugpu_views_mmap(&exported->views, vma);
}

static void unlink_locked(struct exported *exported)
{
	u32 i;

	emugpu_api_assert_held();
	for (i = 0; exported->parts && i < exported->nparts; i++)
		list_del_init(&exported->parts[i].node);
}

static void unlink(struct exported *exported)
{
	emugpu_api_lock();
	unlink_locked(exported);
	emugpu_api_unlock();
}

static void set_dmabuf(struct exported *exported, struct dma_buf *dmabuf)
{
	dma_resv_lock(&exported->resv, NULL);
	exported->dmabuf = dmabuf;
	dma_resv_unlock(&exported->resv);
}

static void ops_release(struct dma_buf *dmabuf)
{
	struct exported *exported = dmabuf->priv;

	unlink(exported);
	set_dmabuf(exported, NULL);
	exported_put(exported);
}

static const struct dma_buf_ops static_ops = {
	.attach = ops_attach,
	.map_dma_buf = ops_map,
	.unmap_dma_buf = ops_unmap,
	.release = ops_release,
	.mmap = ops_mmap,
};

static const struct dma_buf_ops dynamic_ops = {
	.attach = ops_attach,
	.pin = ops_pin,
	.unpin = ops_unpin,
	.map_dma_buf = ops_map,
	.unmap_dma_buf = ops_unmap,
	.release = ops_release,
	.mmap = ops_mmap,
};

/* ---- revocation of dynamic dma-bufs -------------------------------------------- */

void emugpu_export_end(struct list_head *exports, struct list_head *ended)
{
	struct exported *exported;

	emugpu_api_assert_held();
	while (!list_empty(exports)) {
		exported = list_first_entry(exports, struct part, node)->exported;
		kref_get(&exported->refs);
		exported->ended = true;
		unlink_locked(exported);
		emugpu_views_end(&exported->views);
		list_add_tail(&exported->node, ended);
	}
}

static void notify(struct exported *exported)
{
	dma_resv_lock(&exported->resv, NULL);
	if (exported->dmabuf)
		dma_buf_invalidate_mappings(exported->dmabuf);
	dma_resv_unlock(&exported->resv);
}

static void let_go(struct exported *exported)
{
	emugpu_api_lock();
	exported->unseen = true;
	if (!exported->nmaps)
		drop_memory(exported);
	emugpu_api_unlock();
}

void emugpu_export_notify(struct list_head *ended)
{
	struct exported *exported, *next;

	list_for_each_entry_safe(exported, next, ended, node) {
		list_del(&exported->node);
		emugpu_views_zap(&exported->views);
		notify(exported);
		let_go(exported);
		exported_put(exported);
	}
}

/* ---- creation ------------------------------------------------------------------ */

static struct exported *exported_new(const struct emugpu_export *export)
{
	struct exported *exported = kzalloc(sizeof(*exported), GFP_KERNEL);

	if (!exported)
		return NULL;
	kref_init(&exported->refs);
	dma_resv_init(&exported->resv);
	INIT_LIST_HEAD(&exported->node);
	exported->size = export->size;
	exported->uses_bar1 = !emugpu_gpu_is_coherent() || export->flags & EMUGPU_EXPORT_PCIE;
	return exported;
}

/* The rest of the dma-buf that lies in the block */
static u64 in_block(const struct emugpu_block *block, u64 va, u64 left)
{
	return min(left, block->va + block->size - va);
}

/* Counts the blocks of the range, which lie side by side and have the memory of one GPU. */
static int count_blocks(struct exported *exported, u64 va)
{
	const struct emugpu_block *first = emugpu_block_find(va), *block;
	u64 left, n;

	for (left = exported->size; left; left -= n, va += n) {
		block = emugpu_block_find(va);
		if (!first)
			return -ENOENT;
		if (!block || block->gpu != first->gpu)
			return -EINVAL;
		if (block->gpu->gone)
			return -ENODEV;
		n = in_block(block, va, left);
		exported->nparts++;
	}
	return 0;
}

static void add_block(struct exported *exported, u32 nth, struct emugpu_block *block, u64 va, u64 length)
{
	u64 offset = va - block->va;
	u32 first = offset / EMUGPU_PAGE_SIZE;

	emugpu_join_add(exported->memory, block->memory, block->pages + first,
			DIV_ROUND_UP(offset + length, EMUGPU_PAGE_SIZE) - first);
	if (!exported->parts)
		return;
	exported->parts[nth].exported = exported;
	list_add_tail(&exported->parts[nth].node, &block->exports);
}

static void add_blocks(struct exported *exported, u64 va)
{
	struct emugpu_block *block;
	u64 left = exported->size, n;
	u32 i;

	for (i = 0; i < exported->nparts; i++, left -= n, va += n) {
		block = emugpu_block_find(va);
		n = in_block(block, va, left);
		add_block(exported, i, block, va, n);
	}
}

static int parts_new(struct exported *exported)
{
	u32 i;

	exported->parts = kvcalloc(exported->nparts, sizeof(*exported->parts), GFP_KERNEL);
	if (!exported->parts)
		return -ENOMEM;
	for (i = 0; i < exported->nparts; i++)
		INIT_LIST_HEAD(&exported->parts[i].node);
	return 0;
}

static int show_locked(struct exported *exported, u64 va, bool dynamic)
{
	int err = count_blocks(exported, va);

	if (err)
		return err;
	exported->offset = va % EMUGPU_PAGE_SIZE;
	exported->memory = emugpu_join_new(emugpu_block_find(va)->gpu, exported->nparts, nr_pages(exported));
	if (!exported->memory || (dynamic && parts_new(exported)))
		return -ENOMEM;
	add_blocks(exported, va);
	emugpu_memory_disown(exported->memory, exported->offset, exported->size);
	emugpu_views_init(&exported->views, exported->memory, exported->offset, !exported->uses_bar1);
	return 0;
}

/* Sets the memory of @exported to the memory that is at @va now. */
static int show(struct exported *exported, u64 va, bool dynamic)
{
	int err;

	emugpu_api_lock();
	err = show_locked(exported, va, dynamic);
	emugpu_api_unlock();
	return err;
}

/* A revocation may come before dma_buf_export(). Each later attempt to map then fails. */
static struct dma_buf *dmabuf_new(struct exported *exported, bool dynamic)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;

	info.ops = dynamic ? &dynamic_ops : &static_ops;
	info.size = exported->size;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = exported;
	info.resv = &exported->resv;
	dmabuf = dma_buf_export(&info);
	if (!IS_ERR(dmabuf))
		set_dmabuf(exported, dmabuf);
	return dmabuf;
}

static struct dma_buf *export_new(const struct emugpu_export *export, bool dynamic)
{
	struct exported *exported = exported_new(export);
	struct dma_buf *dmabuf;
	int err;

	if (!exported)
		return ERR_PTR(-ENOMEM);
	err = show(exported, export->va, dynamic);
	if (err)
		goto err_put;
	dmabuf = dmabuf_new(exported, dynamic);
	if (!IS_ERR(dmabuf))
		return dmabuf;
	err = PTR_ERR(dmabuf);
	unlink(exported);
err_put:
	exported_put(exported);
	return ERR_PTR(err);
}

struct dma_buf *emugpu_export(struct emugpu_export *export)
{
	struct dma_buf *dmabuf;

	if (!export->size || !PAGE_ALIGNED(export->va | export->size) || export->flags & ~EMUGPU_EXPORT_PCIE)
		return ERR_PTR(-EINVAL);
	if (export->flags && !emugpu_gpu_is_coherent())
		return ERR_PTR(-EOPNOTSUPP);
	dmabuf = export_new(export, READ_ONCE(dmabuf_dynamic));
	if (IS_ERR(dmabuf))
		return dmabuf;
	export->out_fd = get_unused_fd_flags(O_CLOEXEC);
	if (export->out_fd >= 0)
		return dmabuf;
	dma_buf_put(dmabuf);
	return ERR_PTR(export->out_fd);
}

/* The last step of the ioctl: an installed file descriptor cannot be taken back. */
void emugpu_export_finish(const struct emugpu_export *export, struct dma_buf *dmabuf, bool told)
{
	if (told) {
		fd_install(export->out_fd, dmabuf->file);
		return;
	}
	put_unused_fd(export->out_fd);
	dma_buf_put(dmabuf);
}
