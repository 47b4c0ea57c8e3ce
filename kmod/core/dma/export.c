// SPDX-License-Identifier: GPL-2.0
/*
 * Importers map with the reservation lock held, and may call a GPU driver under it. The
 * thread that ends a region may hold the GPU driver's lock. So that thread takes no
 * reservation lock: a work item invalidates the importers' mappings. The thread waits for the
 * work item, then for fences, and since Linux 7.1 for the importers' unmaps, at most until the
 * deadline for the drivers' DMA.
 *
 * The work item needs the dma-buf, which another thread may be releasing. So struct pp_export
 * contains the reservation object and outlives the dma-buf. Release clears @dmabuf under the
 * reservation lock.
 */
#include <linux/atomic.h>
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/stringify.h>
#include <linux/wait_bit.h>
#include "../../compat/compat.h"
#include "export.h"
#include "../region/extents.h"
#include "importer.h"
#include "late.h"
#include "../region/region.h"

MODULE_IMPORT_NS("DMA_BUF");

enum {
	EXPORT_BATCH = 8,	/* exports that are told between two releases of the region's lock */
};

/* number of queued work items that notify importers */
static atomic_t tellings;

static void export_release(struct kref *ref)
{
	struct pp_export *e = container_of(ref, struct pp_export, ref);

	dma_resv_fini(&e->resv);
	kvfree(e->extents.at);
	pp_region_put(e->region);
	kfree(e);
}

static void export_put(struct pp_export *e)
{
	kref_put(&e->ref, export_release);
}

static void export_unlink(struct pp_export *e)
{
	struct peerpin_region *r = e->region;

	spin_lock_irq(&r->lock);
	if (!list_empty(&e->in_region))
		WRITE_ONCE(r->shares, r->shares - 1);
	list_del_init(&e->in_region);
	spin_unlock_irq(&r->lock);
}

static void export_set_dmabuf(struct pp_export *e, struct dma_buf *dmabuf)
{
	dma_resv_lock(&e->resv, NULL);
	e->dmabuf = dmabuf;
	dma_resv_unlock(&e->resv);
}

/* ---- the region's end -------------------------------------------------------- */

/* The state if the importers with move_notify have been notified now */
static enum pp_export_told export_told_locked(const struct pp_export *e)
{
	if (pp_importer_any_told_maps_locked(e))
		return PP_EXPORT_TOLD;
	return list_empty(&e->maps) ? PP_EXPORT_QUIET : PP_EXPORT_PINNED;
}

/*
 * The caller holds the reservation lock, because importers pin under that lock. A pin has an
 * effect on non-revocable memory only. Fences matter only if a notified importer had a mapping:
 * move_notify may undo the mapping and leave a fence.
 */
static enum pp_export_told export_invalidate(struct pp_export *e)
{
	struct peerpin_region *r = e->region;
	enum pp_export_told told;

	dma_resv_assert_held(&e->resv);
	spin_lock_irq(&r->lock);
	told = export_told_locked(e);
	spin_unlock_irq(&r->lock);
	if (e->region->provider->lasting && pp_importer_any_must_not_be_told(e))
		return PP_EXPORT_PINNED;
	if (e->dmabuf)
		dma_buf_invalidate_mappings(e->dmabuf);
	return told;
}

static bool export_is_told(struct pp_export *e)
{
	struct peerpin_region *r = e->region;
	bool told;

	spin_lock_irq(&r->lock);
	told = e->told != PP_EXPORT_TELLING;
	spin_unlock_irq(&r->lock);
	return told;
}

static void export_tell_once(struct pp_export *e)
{
	struct peerpin_region *r = e->region;
	enum pp_export_told told;

	dma_resv_assert_held(&e->resv);
	if (export_is_told(e))
		return;
	told = export_invalidate(e);

	spin_lock_irq(&r->lock);
	e->told = told;
	wake_up_all(&r->idle);
	spin_unlock_irq(&r->lock);
}

/* The caller queues a work item, which owns the reference. */
static void export_tell_begin(struct pp_export *e)
{
	kref_get(&e->ref);
	atomic_inc(&tellings);
}

static void export_tell_end(struct pp_export *e)
{
	export_put(e);
	if (atomic_dec_and_test(&tellings))
		wake_up_var(&tellings);
}

/*
 * Waits for the lock that export_tell() found locked. Sleeps interruptibly, so that the
 * hung-task detector ignores the wait. A kernel worker receives no signals.
 */
static void export_await(struct work_struct *work)
{
	struct pp_export *e = container_of(work, struct pp_export, awaiting);

	if (!dma_resv_lock_interruptible(&e->resv, NULL)) {
		export_tell_once(e);
		dma_resv_unlock(&e->resv);
	}
	export_tell_end(e);
}

/*
 * Two work items notify the importers, because neither is enough alone:
 * - export_tell() only tries the lock. If it waited, hundreds of locks held by other drivers
 *   would delay the importers of all other exports.
 * - export_await() waits for the lock. A thread that only tries never gets a lock which its
 *   holders hand to one another.
 * export_tell() goes on trying, because export_await() may be queued behind many waiting
 * items on pp_lock_wq. test/vm/dmabuf/t_export_late.c has a case for each work item. Neither work
 * item waits for a fence. But invalidate_mappings() may wait for drivers, if an importer is a
 * region made of this dma-buf.
 */
static void export_tell(struct work_struct *work)
{
	struct pp_export *e = container_of(to_delayed_work(work), struct pp_export, work);

	if (dma_resv_trylock(&e->resv)) {
		export_tell_once(e);
		dma_resv_unlock(&e->resv);
	}
	if (export_is_told(e)) {
		export_tell_end(e);
		return;
	}
	if (!e->awaited) {
		e->awaited = true;
		export_tell_begin(e);
		queue_work(pp_lock_wq, &e->awaiting);
	}
	queue_delayed_work(pp_tell_wq, &e->work, HZ / 16);
}

void pp_export_exit(void)
{
	wait_var_event(&tellings, !atomic_read(&tellings));
}

/* An importer that attaches from now on cannot map, so it needs no notification. */
static void export_tell_locked(struct pp_export *e)
{
	if (!pp_importer_any_can_be_told_locked(e)) {
		e->told = export_told_locked(e);
		return;
	}
	e->told = PP_EXPORT_TELLING;
	export_tell_begin(e);
	queue_delayed_work(pp_tell_wq, &e->work, 0);
}

/* Tells at most EXPORT_BATCH exports, because interrupts are off here. False: there may be more */
static bool export_tell_some(struct peerpin_region *r)
{
	unsigned int told = 0;
	struct pp_export *e;

	spin_lock_irq(&r->lock);
	list_for_each_entry(e, &r->exports, in_region) {
		if (e->told != PP_EXPORT_UNTOLD)
			continue;
		if (told++ == EXPORT_BATCH)
			break;
		export_tell_locked(e);
	}
	spin_unlock_irq(&r->lock);
	return told <= EXPORT_BATCH;
}

void pp_export_tell_all(struct peerpin_region *r)
{
	while (!export_tell_some(r))
		cond_resched();
}

static bool export_all_told(struct peerpin_region *r)
{
	struct pp_export *e;
	bool told = true;

	spin_lock_irq(&r->lock);
	list_for_each_entry(e, &r->exports, in_region)
		told &= e->told != PP_EXPORT_TELLING;
	spin_unlock_irq(&r->lock);
	return told;
}

/* Returns an export in state TOLD, with a reference. The list may change between two calls. */
static struct pp_export *export_get_told(struct peerpin_region *r)
{
	struct pp_export *e;

	spin_lock_irq(&r->lock);
	list_for_each_entry(e, &r->exports, in_region) {
		if (e->told == PP_EXPORT_TOLD) {
			kref_get(&e->ref);
			goto out;
		}
	}
	e = NULL;
out:
	spin_unlock_irq(&r->lock);
	return e;
}

/*
 * dma_resv_wait_timeout() is not used: with no time left it would still wait a tick for each
 * fence, and the caller may hold a GPU driver's lock.
 */
static bool export_fences_end(struct pp_export *e, unsigned long deadline)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	bool end = true;

	dma_resv_iter_begin(&cursor, &e->resv, DMA_RESV_USAGE_BOOKKEEP);
	dma_resv_for_each_fence_unlocked(&cursor, fence) {
		end = dma_fence_wait_timeout(fence, false, pp_time_left(deadline)) > 0;
		if (!end)
			break;
	}
	dma_resv_iter_end(&cursor);
	return end;
}

static bool export_is_unmapped(struct pp_export *e)
{
	struct peerpin_region *r = e->region;
	bool unmapped;

	spin_lock_irq(&r->lock);
	unmapped = !pp_importer_any_must_unmap_locked(e);
	spin_unlock_irq(&r->lock);
	return unmapped;
}

/* The unmap of a revocable importer ends the reads of its device. */
static bool export_maps_end(struct pp_export *e, unsigned long deadline)
{
	return wait_event_timeout(e->region->idle, export_is_unmapped(e), pp_time_left(deadline)) > 0;
}

static bool export_uses_end(struct pp_export *e, unsigned long deadline)
{
	return export_fences_end(e, deadline) && export_maps_end(e, deadline);
}

/*
 * Several threads may wait for the uses of @e. A thread that saw all uses end sets QUIET, also if another thread has
 * timed out and set LATE. A thread that times out never replaces QUIET.
 */
static void export_settle(struct pp_export *e, bool quiet)
{
	struct peerpin_region *r = e->region;

	spin_lock_irq(&r->lock);
	if (quiet)
		e->told = PP_EXPORT_QUIET;
	else if (e->told == PP_EXPORT_TOLD)
		e->told = PP_EXPORT_LATE;
	spin_unlock_irq(&r->lock);
}

/* After the deadline the remaining exports are checked without waiting. */
static void export_wait_uses(struct peerpin_region *r, unsigned long deadline)
{
	struct pp_export *e;

	while ((e = export_get_told(r))) {
		export_settle(e, export_uses_end(e, deadline));
		export_put(e);
	}
}

static void export_name_late(struct peerpin_region *r)
{
	struct pp_late late;
	struct pp_export *e;
	unsigned int i;

	late.count = 0;
	spin_lock_irq(&r->lock);
	list_for_each_entry(e, &r->exports, in_region)
		if (e->told < PP_EXPORT_PINNED)
			pp_importer_note_late_locked(e, &late);
	spin_unlock_irq(&r->lock);
	for (i = 0; i < late.count; i++)
		pr_err_ratelimited("peerpin: %s still uses a dma-buf of an ended region; its driver must end DMA after "
				   __stringify(invalidate_mappings) "()\n", late.device[i]);
}

void pp_export_wait_all(struct peerpin_region *r, unsigned long deadline)
{
	wait_event_timeout(r->idle, export_all_told(r), pp_time_left(deadline));
	export_wait_uses(r, deadline);
	export_name_late(r);
}

static struct pp_import *export_take_any(struct peerpin_region *r)
{
	struct pp_import *m = NULL;
	struct pp_export *e;

	spin_lock_irq(&r->lock);
	list_for_each_entry(e, &r->exports, in_region) {
		m = pp_import_take_locked(e);
		if (m)
			break;
	}
	spin_unlock_irq(&r->lock);
	return m;
}

void pp_export_drop_all(struct peerpin_region *r)
{
	struct pp_import *m;

	while ((m = export_take_any(r)))
		pp_import_undo(m);
}

unsigned int pp_export_count_locked(struct peerpin_region *r)
{
	const struct pp_export *e;
	unsigned int n = 0;

	list_for_each_entry(e, &r->exports, in_region)
		n += pp_import_count_locked(e);
	return n;
}

const char *pp_export_show_locked(struct peerpin_region *r, struct seq_file *m,
				  const char *separator)
{
	const struct pp_export *e;

	list_for_each_entry(e, &r->exports, in_region)
		separator = pp_import_show_locked(e, m, separator);
	return separator;
}

/* ---- making an export -------------------------------------------------------- */

static void export_released(struct dma_buf *dmabuf)
{
	struct pp_export *e = dmabuf->priv;

	export_unlink(e);
	export_set_dmabuf(e, NULL);
	export_put(e);
}

static const struct dma_buf_ops export_ops = {
	.attach = pp_importer_attach,
	.detach = pp_importer_detach,
	.pin = pp_importer_pin,
	.unpin = pp_importer_unpin,
	.map_dma_buf = pp_importer_map,
	.unmap_dma_buf = pp_importer_unmap,
	.release = export_released,
};

static int export_check(const struct peerpin_region *r, u64 offset, u64 length)
{
	if (r->provider->map)
		return -EOPNOTSUPP;
	if (!length || !PAGE_ALIGNED(offset | length))
		return -EINVAL;
	return length <= r->length && offset <= r->length - length ? 0 : -EINVAL;
}

static int export_link(struct pp_export *e)
{
	struct peerpin_region *r = e->region;
	int ret = 0;

	spin_lock_irq(&r->lock);
	if (r->state != PP_LIVE) {
		ret = -ESTALE;
	} else if (r->shares == PP_SHARES_MAX) {
		ret = -EDQUOT;
	} else {
		WRITE_ONCE(r->shares, r->shares + 1);
		list_add_tail(&e->in_region, &r->exports);
	}
	spin_unlock_irq(&r->lock);
	return ret;
}

static struct pp_export *export_new(struct peerpin_region *r)
{
	struct pp_export *e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);

	if (!e)
		return NULL;
	kref_init(&e->ref);
	dma_resv_init(&e->resv);
	INIT_LIST_HEAD(&e->in_region);
	INIT_LIST_HEAD(&e->importers);
	INIT_LIST_HEAD(&e->maps);
	INIT_DELAYED_WORK(&e->work, export_tell);
	INIT_WORK(&e->awaiting, export_await);
	pp_region_get(r);
	e->region = r;
	return e;
}

/* The region may end during the call; then mapping the dma-buf fails. */
static struct dma_buf *export_dmabuf(struct pp_export *e)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;

	info.ops = &export_ops;
	info.size = e->extents.bytes;
	info.flags = O_RDWR | O_CLOEXEC;
	info.resv = &e->resv;
	info.priv = e;
	dmabuf = dma_buf_export(&info);
	if (!IS_ERR(dmabuf))
		export_set_dmabuf(e, dmabuf);
	return dmabuf;
}

struct dma_buf *pp_export(struct peerpin_region *r, u64 offset, u64 length)
{
	int ret = export_check(r, offset, length);
	struct dma_buf *dmabuf;
	struct pp_export *e;

	if (ret)
		return ERR_PTR(ret);
	e = export_new(r);
	if (!e)
		return ERR_PTR(-ENOMEM);
	ret = pp_extents_read_part(r, offset, length, &e->extents) ?: export_link(e);
	if (ret)
		goto err_put;
	dmabuf = export_dmabuf(e);
	if (!IS_ERR(dmabuf))
		return dmabuf;
	ret = PTR_ERR(dmabuf);
	export_unlink(e);
err_put:
	export_put(e);
	return ERR_PTR(ret);
}
