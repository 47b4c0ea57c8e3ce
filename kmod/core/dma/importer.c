// SPDX-License-Identifier: GPL-2.0
/*
 * A mapping is undone once, by the thread that claims it: the importer's unmap or the thread
 * that ends the region. The importer's unmap returns only when the mapping is undone, because
 * the importer's device may be removed next. The importer gets its own sg_table, because some
 * importers modify the table.
 *
 * A mapping of non-revocable memory (provider.h) is held, and keeps the pages pinned, if
 *	- its importer has no invalidate_mappings(),
 *	- before Linux 7.1: an importer has pinned the dma-buf, so that no importer of the dma-buf is notified, or
 *	- an importer of the dma-buf was notified and still uses the memory.
 * region->held counts held mappings.
 *
 * Since Linux 7.1 an importer with invalidate_mappings() is revocable. Such an importer may pin revocable memory,
 * because it is notified nevertheless. Until it unmaps, its device may still read. So the region's end waits for
 * its unmap as for a fence.
 */
#include <linux/device.h>
#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "../../compat/compat.h"
#include "../region/end.h"
#include "export.h"
#include "importer.h"
#include "late.h"
#include "map.h"
#include "../region/region.h"

/**
 * struct pp_importer - an attachment of another driver to an export
 * @in_export: entry in export->importers; under region->lock, as all but @attachment
 * @attachment: the attachment, whose priv is this structure
 * @pins: number of calls of pin() without unpin()
 * @nr_maps: number of this importer's mappings in export->maps
 * @has_mapped: the importer had a mapping at some time, and may have left a fence
 */
struct pp_importer {
	struct list_head in_export;
	struct dma_buf_attachment *attachment;
	unsigned int pins;
	unsigned int nr_maps;
	bool has_mapped;
};

enum map_state {
	MAP_MADE,
	MAP_CLAIMED,	/* being undone */
	MAP_UNDONE,
};

/**
 * struct pp_import - a mapping of an importer
 * @in_export: entry in export->maps; under region->lock, as are @state and @held
 * @export: the export, which stays because the importer holds the dma-buf
 * @map: the bus addresses, for unmapping
 * @shown: a copy of @map's table for the importer
 * @held: counted in region->held
 */
struct pp_import {
	struct list_head in_export;
	struct pp_export *export;
	struct pp_importer *importer;
	struct pp_map map;
	struct sg_table shown;
	enum map_state state;
	bool held;
};

static bool importer_is_dynamic(const struct dma_buf_attachment *attachment)
{
	return attachment->importer_ops &&
	       attachment->importer_ops->invalidate_mappings;
}

/*
 * Returns true if the dynamic importer @importer has pinned the dma-buf itself. Before Linux 7.1 such an importer must
 * not be notified. With PP_DMABUF_MAPPING_PINS each of its @nr_maps mappings counts as a pin, too; only further pins
 * are the importer's own.
 */
static bool importer_has_pinned_locked(const struct pp_importer *importer,
				       unsigned int nr_maps)
{
	return !PP_DMABUF_REVOCABLE && importer->pins > (PP_DMABUF_MAPPING_PINS ? nr_maps : 0);
}

/* We assume that a static importer, which cannot set peer2peer, accepts bus addresses of a BAR. */
static int importer_check(const struct pp_export *e,
			  const struct dma_buf_attachment *attachment)
{
	const struct pp_provider *provider = e->region->provider;

	if (!attachment->dev->dma_mask)	/* the DMA API would warn */
		return -EOPNOTSUPP;
	if (!provider->lasting && !importer_is_dynamic(attachment))
		return -EOPNOTSUPP;
	if (!provider->page_backed && attachment->importer_ops &&
	    !attachment->peer2peer)
		return -EOPNOTSUPP;
	return 0;
}

static int importer_list(struct pp_export *e, struct pp_importer *importer)
{
	struct peerpin_region *r = e->region;
	int ret = 0;

	spin_lock_irq(&r->lock);
	if (r->shares < PP_SHARES_MAX) {
		WRITE_ONCE(r->shares, r->shares + 1);
		list_add_tail(&importer->in_export, &e->importers);
	} else {
		ret = -EDQUOT;
	}
	spin_unlock_irq(&r->lock);
	return ret;
}

int pp_importer_attach(struct dma_buf *dmabuf,
		       struct dma_buf_attachment *attachment)
{
	struct pp_export *e = dmabuf->priv;
	int ret = importer_check(e, attachment);
	struct pp_importer *importer;

	if (ret)
		return ret;
	importer = kzalloc(sizeof(*importer), GFP_KERNEL_ACCOUNT);
	if (!importer)
		return -ENOMEM;
	importer->attachment = attachment;
	ret = importer_list(e, importer);
	if (ret) {
		kfree(importer);
		return ret;
	}
	attachment->priv = importer;
	return 0;
}

void pp_importer_detach(struct dma_buf *dmabuf,
			struct dma_buf_attachment *attachment)
{
	struct pp_export *e = dmabuf->priv;
	struct pp_importer *importer = attachment->priv;
	struct peerpin_region *r = e->region;

	spin_lock_irq(&r->lock);
	list_del(&importer->in_export);
	WRITE_ONCE(r->shares, r->shares - 1);
	spin_unlock_irq(&r->lock);
	kfree(importer);
}

int pp_importer_pin(struct dma_buf_attachment *attachment)
{
	struct pp_export *e = attachment->dmabuf->priv;
	struct pp_importer *importer = attachment->priv;

	if (!PP_DMABUF_REVOCABLE && !PP_DMABUF_MAPPING_PINS && !e->region->provider->lasting)
		return -EOPNOTSUPP;
	spin_lock_irq(&e->region->lock);
	importer->pins++;
	spin_unlock_irq(&e->region->lock);
	return 0;
}

void pp_importer_unpin(struct dma_buf_attachment *attachment)
{
	struct pp_export *e = attachment->dmabuf->priv;
	struct pp_importer *importer = attachment->priv;

	spin_lock_irq(&e->region->lock);
	importer->pins--;
	spin_unlock_irq(&e->region->lock);
}

/* Static importers have no invalidate_mappings(). */
bool pp_importer_any_can_be_told_locked(const struct pp_export *e)
{
	const struct pp_importer *importer;

	list_for_each_entry(importer, &e->importers, in_export)
		if (importer_is_dynamic(importer->attachment))
			return true;
	return false;
}

bool pp_importer_any_told_maps_locked(const struct pp_export *e)
{
	const struct pp_import *m;

	list_for_each_entry(m, &e->maps, in_export)
		if (importer_is_dynamic(m->importer->attachment))
			return true;
	return false;
}

bool pp_importer_any_must_not_be_told(struct pp_export *e)
{
	struct pp_importer *importer;
	bool any = false;

	dma_resv_assert_held(&e->resv);
	spin_lock_irq(&e->region->lock);
	list_for_each_entry(importer, &e->importers, in_export)
		any |= importer_is_dynamic(importer->attachment) &&
		       importer_has_pinned_locked(importer, importer->nr_maps);
	spin_unlock_irq(&e->region->lock);
	return any;
}

bool pp_importer_any_must_unmap_locked(const struct pp_export *e)
{
	const struct pp_import *m;

	list_for_each_entry(m, &e->maps, in_export)
		if (m->state != MAP_UNDONE && importer_is_dynamic(m->importer->attachment))
			return PP_DMABUF_REVOCABLE;
	return false;
}

/* ---- mappings ---------------------------------------------------------------- */

static int map_publish_locked(struct pp_import *m)
{
	struct pp_importer *importer = m->importer;
	struct peerpin_region *r = m->export->region;

	if (r->state != PP_LIVE)
		return -ENODEV;
	if (!r->provider->lasting &&
	    importer_has_pinned_locked(importer, importer->nr_maps + 1))
		return -EOPNOTSUPP;
	list_add_tail(&m->in_export, &m->export->maps);
	importer->nr_maps++;
	importer->has_mapped = true;
	pp_region_count_map_locked(r);
	return 0;
}

static int map_publish(struct pp_import *m)
{
	struct peerpin_region *r = m->export->region;
	int ret;

	spin_lock_irq(&r->lock);
	ret = map_publish_locked(m);
	spin_unlock_irq(&r->lock);
	return ret;
}

/*
 * The caller is a user, so the region's end waits for the caller. Bounce buffers are refused: no
 * code would copy between bounce buffers and memory.
 */
static int map_make(struct pp_import *m)
{
	int ret = pp_map_make(&m->map, &m->export->extents);

	if (ret)
		return ret;
	ret = m->map.bounced ? -EIO : map_publish(m);
	if (ret)
		pp_map_undo(&m->map, &m->export->extents);
	return ret;
}

static int map_make_guarded(struct pp_import *m)
{
	struct peerpin_region *r = m->export->region;
	int ret;

	if (pp_region_enter(r))
		return -ENODEV;
	ret = map_make(m);
	pp_region_leave(r);
	return ret;
}

static struct pp_import *map_new(struct dma_buf_attachment *attachment)
{
	struct pp_import *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);

	if (!m)
		return NULL;
	m->export = attachment->dmabuf->priv;
	m->importer = attachment->priv;
	return m;
}

static void map_free(struct pp_import *m)
{
	sg_free_table(&m->shown);
	pp_map_free(&m->map);
	kfree(m);
}

static int map_alloc(struct pp_import *m, struct device *dev)
{
	struct pp_export *e = m->export;
	u64 entries = pp_map_init(&m->map, dev, &e->extents,
				  e->region->provider->page_backed,
				  e->region->caching == PEERPIN_CACHING_CACHED);

	return pp_map_alloc(&m->map, entries) ?:
	       sg_alloc_table(&m->shown, entries, GFP_KERNEL_ACCOUNT);
}

static void map_show(struct pp_import *m)
{
	struct scatterlist *to = m->shown.sgl;
	struct scatterlist *from;
	int i;

	for_each_sgtable_sg(&m->map.sgt, from, i) {
		if (m->map.page_backed)
			sg_set_page(to, sg_page(from), from->length, from->offset);
		else
			to->length = from->length;
		sg_dma_address(to) = sg_dma_address(from);
		sg_dma_len(to) = sg_dma_len(from);
		to = sg_next(to);
	}
	m->shown.nents = m->map.sgt.nents;
}

static int map_for(struct pp_import *m, struct device *dev)
{
	int ret = map_alloc(m, dev) ?: map_make_guarded(m);

	if (!ret)
		map_show(m);
	return ret;
}

struct sg_table *pp_importer_map(struct dma_buf_attachment *attachment,
				 enum dma_data_direction dir)
{
	struct pp_import *m = map_new(attachment);
	int ret;

	if (!m)
		return ERR_PTR(-ENOMEM);
	ret = map_for(m, attachment->dev);
	if (!ret)
		return &m->shown;
	map_free(m);
	return ERR_PTR(ret);
}

static bool map_claim_locked(struct pp_import *m)
{
	if (m->state != MAP_MADE)
		return false;
	m->state = MAP_CLAIMED;
	m->export->region->users++;
	return true;
}

static bool map_claim(struct pp_import *m)
{
	struct peerpin_region *r = m->export->region;
	bool claimed;

	spin_lock_irq(&r->lock);
	claimed = map_claim_locked(m);
	spin_unlock_irq(&r->lock);
	return claimed;
}

/* Called by the thread that claimed @m. The importer may free @m once the state is UNDONE. */
void pp_import_undo(struct pp_import *m)
{
	struct peerpin_region *r = m->export->region;

	pp_map_undo(&m->map, &m->export->extents);
	spin_lock_irq(&r->lock);
	m->state = MAP_UNDONE;
	wake_up_all(&r->idle);
	spin_unlock_irq(&r->lock);
	pp_region_leave(r);
}

static bool map_is_undone(struct pp_import *m)
{
	struct peerpin_region *r = m->export->region;
	bool undone;

	spin_lock_irq(&r->lock);
	undone = m->state == MAP_UNDONE;
	spin_unlock_irq(&r->lock);
	return undone;
}

static void map_unlist(struct pp_import *m)
{
	struct peerpin_region *r = m->export->region;

	spin_lock_irq(&r->lock);
	list_del(&m->in_export);
	m->importer->nr_maps--;
	if (m->held && !--r->held)
		pp_region_idle_locked(r);
	spin_unlock_irq(&r->lock);
}

void pp_importer_unmap(struct dma_buf_attachment *attachment,
		       struct sg_table *sgt, enum dma_data_direction dir)
{
	struct pp_import *m = container_of(sgt, struct pp_import, shown);
	struct peerpin_region *r = m->export->region;

	if (map_claim(m))
		pp_import_undo(m);
	else
		wait_event(r->idle, map_is_undone(m));
	map_unlist(m);
	map_free(m);
}

/* ---- the region's end -------------------------------------------------------- */

static bool map_is_to_be_held_locked(const struct pp_import *m)
{
	const struct pp_importer *importer = m->importer;

	if (!m->export->region->provider->lasting)
		return false;
	return m->export->told != PP_EXPORT_QUIET ||
	       !importer_is_dynamic(importer->attachment) ||
	       importer_has_pinned_locked(importer, importer->nr_maps);
}

/* True: the caller must undo @m. False: @m is held, or another thread has claimed @m. */
static bool map_take_locked(struct pp_import *m)
{
	if (m->held || m->state != MAP_MADE)
		return false;
	if (!map_is_to_be_held_locked(m))
		return map_claim_locked(m);
	m->held = true;
	m->export->region->held++;
	return false;
}

struct pp_import *pp_import_take_locked(struct pp_export *e)
{
	struct pp_import *m;

	list_for_each_entry(m, &e->maps, in_export)
		if (map_take_locked(m))
			return m;
	return NULL;
}

/*
 * In state TELLING no importer was notified, so all that can be are noted. In the other states an importer that never
 * had a mapping cannot have left a fence, so this importer is not noted. Nothing waits for static importers.
 */
void pp_importer_note_late_locked(const struct pp_export *e, struct pp_late *late)
{
	const struct pp_importer *importer;

	list_for_each_entry(importer, &e->importers, in_export)
		if (importer_is_dynamic(importer->attachment) &&
		    (e->told == PP_EXPORT_TELLING || importer->has_mapped))
			pp_late_note(late, importer->attachment->dev);
}

/* ---- debugfs and fdinfo -------------------------------------------------------------- */

unsigned int pp_import_count_locked(const struct pp_export *e)
{
	const struct pp_import *m;
	unsigned int n = 0;

	list_for_each_entry(m, &e->maps, in_export)
		n += m->state != MAP_UNDONE;
	return n;
}

const char *pp_import_show_locked(const struct pp_export *e, struct seq_file *m,
				  const char *separator)
{
	const struct pp_import *map;

	list_for_each_entry(map, &e->maps, in_export) {
		if (map->state == MAP_UNDONE)
			continue;
		seq_printf(m, "%s%s", separator, dev_name(map->map.dev));
		separator = ",";
	}
	return separator;
}
