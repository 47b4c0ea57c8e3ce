// SPDX-License-Identifier: GPL-2.0
#include <linux/bug.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/jiffies.h>
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
#include "exported.h"
#include "gpu.h"
#include "guard.h"
#include "import.h"
#include "join.h"
#include "memory.h"
#include "view.h"

MODULE_IMPORT_NS("DMA_BUF");

static bool dmabuf_dynamic;
module_param(dmabuf_dynamic, bool, 0644);
MODULE_PARM_DESC(dmabuf_dynamic, "freeing a block revokes its dma-bufs (default 0: they keep the memory)");

enum { FENCES_S = 5 };

/* A block of a dynamic dma-buf */
struct part {
	struct list_head node;		/* in block->exports; API lock */
	struct emugpu_exported *exported;
};

static void exported_release(struct kref *refs)
{
	struct emugpu_exported *exported = container_of(refs, struct emugpu_exported, refs);

	WARN_ON(exported->nmaps);
	if (exported->memory)
		emugpu_memory_put(exported->memory);
	kvfree(exported->parts);
	dma_resv_fini(&exported->resv);
	kfree(exported);
}

static void exported_put(struct emugpu_exported *exported)
{
	kref_put(&exported->refs, exported_release);
}

/* ---- operations ------------------------------------------------------------- */

static int ops_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct emugpu_exported *exported = dmabuf->priv;

	return emugpu_views_mmap(&exported->views, vma);
}

static void unlink_locked(struct emugpu_exported *exported)
{
	u32 i;

	emugpu_api_assert_held();
	for (i = 0; exported->parts && i < exported->nparts; i++)
		list_del_init(&exported->parts[i].node);
}

static void unlink(struct emugpu_exported *exported)
{
	emugpu_api_lock();
	unlink_locked(exported);
	emugpu_api_unlock();
}

static void set_dmabuf(struct emugpu_exported *exported, struct dma_buf *dmabuf)
{
	dma_resv_lock(&exported->resv, NULL);
	exported->dmabuf = dmabuf;
	dma_resv_unlock(&exported->resv);
}

static void ops_release(struct dma_buf *dmabuf)
{
	struct emugpu_exported *exported = dmabuf->priv;

	unlink(exported);
	set_dmabuf(exported, NULL);
	exported_put(exported);
}

static const struct dma_buf_ops static_ops = {
	.attach = emugpu_import_attach,
	.detach = emugpu_import_detach,
	.map_dma_buf = emugpu_import_map,
	.unmap_dma_buf = emugpu_import_unmap,
	.release = ops_release,
	.mmap = ops_mmap,
};

static const struct dma_buf_ops dynamic_ops = {
	.attach = emugpu_import_attach,
	.detach = emugpu_import_detach,
	.pin = emugpu_import_pin,
	.unpin = emugpu_import_unpin,
	.map_dma_buf = emugpu_import_map,
	.unmap_dma_buf = emugpu_import_unmap,
	.release = ops_release,
	.mmap = ops_mmap,
};

/* ---- revocation of dynamic dma-bufs -------------------------------------------- */

void emugpu_export_end(struct list_head *exports, struct list_head *ended)
{
	struct emugpu_exported *exported;

	emugpu_api_assert_held();
	if (!list_empty(exports))
		emugpu_guard_begin();
	while (!list_empty(exports)) {
		exported = list_first_entry(exports, struct part, node)->exported;
		kref_get(&exported->refs);
		exported->ended = true;
		unlink_locked(exported);
		emugpu_views_end(&exported->views);
		list_add_tail(&exported->node, ended);
	}
}

static void notify(struct emugpu_exported *exported)
{
	dma_resv_lock(&exported->resv, NULL);
	WRITE_ONCE(exported->notifier, current);
	if (exported->dmabuf) {
		dma_buf_invalidate_mappings(exported->dmabuf);
		emugpu_import_blame(exported);
	}
	WRITE_ONCE(exported->notifier, NULL);
	dma_resv_unlock(&exported->resv);
}

/* Looks for users of the memory as the owner of the block could: when all fences of importers have signaled. */
static void look(struct emugpu_exported *exported)
{
	if (!exported->blamed.function || !emugpu_guard_is_on())
		return;
	dma_resv_wait_timeout(&exported->resv, DMA_RESV_USAGE_BOOKKEEP, false, FENCES_S * HZ);
	emugpu_api_lock();
	emugpu_guard_add_memory(exported->memory, exported->offset / EMUGPU_PAGE_SIZE, emugpu_exported_npages(exported),
				exported->nmaps && exported->uses_bar1, &exported->blamed);
	emugpu_guard_look();
	emugpu_api_unlock();
}

void emugpu_export_notify(struct list_head *ended)
{
	struct emugpu_exported *exported, *next;

	list_for_each_entry_safe(exported, next, ended, node) {
		list_del(&exported->node);
		emugpu_views_zap(&exported->views);
		notify(exported);
		look(exported);
		emugpu_exported_let_go(exported);
		exported_put(exported);
	}
}

/* ---- creation ------------------------------------------------------------------ */

static struct emugpu_exported *exported_new(const struct emugpu_export *export)
{
	struct emugpu_exported *exported = kzalloc(sizeof(*exported), GFP_KERNEL);

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
static int count_blocks(struct emugpu_exported *exported, u64 va)
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

static void add_block(struct emugpu_exported *exported, u32 nth, struct emugpu_block *block, u64 va, u64 length)
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

static void add_blocks(struct emugpu_exported *exported, u64 va)
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

static int parts_new(struct emugpu_exported *exported)
{
	u32 i;

	exported->parts = kvcalloc(exported->nparts, sizeof(*exported->parts), GFP_KERNEL);
	if (!exported->parts)
		return -ENOMEM;
	for (i = 0; i < exported->nparts; i++)
		INIT_LIST_HEAD(&exported->parts[i].node);
	return 0;
}

static int show_locked(struct emugpu_exported *exported, u64 va, bool dynamic)
{
	int err = count_blocks(exported, va);

	if (err)
		return err;
	exported->offset = va % EMUGPU_PAGE_SIZE;
	exported->memory = emugpu_join_new(emugpu_block_find(va)->gpu, exported->nparts, emugpu_exported_npages(exported));
	if (!exported->memory || (dynamic && parts_new(exported)))
		return -ENOMEM;
	add_blocks(exported, va);
	emugpu_memory_disown(exported->memory, exported->offset, exported->size);
	emugpu_views_init(&exported->views, exported->memory, exported->offset, !exported->uses_bar1);
	return 0;
}

/* Sets the memory of @exported to the memory that is at @va now. */
static int show(struct emugpu_exported *exported, u64 va, bool dynamic)
{
	int err;

	emugpu_api_lock();
	err = show_locked(exported, va, dynamic);
	emugpu_api_unlock();
	return err;
}

/* A revocation may come before dma_buf_export(). Each later attempt to map then fails. */
static struct dma_buf *dmabuf_new(struct emugpu_exported *exported, bool dynamic)
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
	struct emugpu_exported *exported = exported_new(export);
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
