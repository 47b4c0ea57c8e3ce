// SPDX-License-Identifier: GPL-2.0
#include <linux/device.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "attach.h"
#include "../region/end.h"
#include "export.h"
#include "../region/extents.h"
#include "inflight.h"
#include "late.h"
#include "peer.h"
#include "../region/region.h"
#include "../region/unplug.h"
#include "../node/trace.h"

enum {
	ENTRIES_FREED_AT_ONCE = 4096,	/* largest table that is freed in an interrupt: 32 pages */
};

static void attach_free(struct peerpin_attach *a)
{
	pp_map_free(&a->map);
	pp_peer_put(a->peer);
	pp_region_put(a->region);
	kfree_rcu(a, rcu);
}

static void attach_free_work(struct work_struct *work)
{
	attach_free(container_of(work, struct peerpin_attach, work));
}

/*
 * Without references the attachment is unlisted, hence unmapped: only memory is left to free. May run in
 * an interrupt, for example at the end of overdue DMA, or in an RCU callback, if the references were spread.
 * There a work item frees a large table, because to free a million entries takes milliseconds. @work is no
 * longer queued: attach_work() drops its reference last. The reference to the region keeps the module.
 */
static void attach_release(struct pp_ref *ref)
{
	struct peerpin_attach *a = container_of(ref, struct peerpin_attach, ref);

	if (a->map.sgt.orig_nents <= ENTRIES_FREED_AT_ONCE || !(in_interrupt() || irqs_disabled())) {
		attach_free(a);
		return;
	}
	INIT_WORK(&a->work, attach_free_work);
	queue_work(pp_wq, &a->work);
}

void peerpin_attach_put(struct peerpin_attach *a)
{
	pp_ref_put(&a->ref);
}
EXPORT_SYMBOL_GPL(peerpin_attach_put);

static struct peerpin_attach *attach_find_locked(struct peerpin_region *r,
						 struct peerpin_peer *peer)
{
	struct peerpin_attach *a;

	lockdep_assert_held(&r->lock);
	if (r->state != PP_LIVE)
		return ERR_PTR(-ESTALE);
	list_for_each_entry(a, &r->attaches, in_region) {
		if (a->peer == peer) {
			pp_ref_get(&a->ref);
			return a;
		}
	}
	return NULL;
}

static struct peerpin_attach *attach_find_rcu(struct peerpin_region *r,
					      struct peerpin_peer *peer)
{
	struct peerpin_attach *a;

	if (!pp_region_is_live(r))
		return ERR_PTR(-ESTALE);
	list_for_each_entry_rcu(a, &r->attaches, in_region)
		if (a->peer == peer && pp_ref_tryget(&a->ref))
			return a;
	return NULL;
}

static void attach_spread_ref(struct peerpin_attach *a)
{
	spin_lock_irq(&a->region->lock);
	if (a->listed)
		pp_ref_spread(&a->ref);
	spin_unlock_irq(&a->region->lock);
}

/* Drivers may look up for each transfer, so this takes no lock. */
static struct peerpin_attach *attach_find(struct peerpin_region *r,
					  struct peerpin_peer *peer)
{
	struct peerpin_attach *a;

	rcu_read_lock();
	a = attach_find_rcu(r, peer);
	rcu_read_unlock();
	if (!IS_ERR_OR_NULL(a) && pp_ref_is_shared(&a->ref))
		attach_spread_ref(a);
	return a;
}

/*
 * List @a and return @a. If another thread has listed an attachment for the peer before, return
 * that attachment. If the region has ended, the peer is being unregistered, or the unplug of a device
 * may have missed the mapping, return an error.
 * @unplugs: for a mapping of the provider: pp_unplug_count() before map()
 */
static struct peerpin_attach *attach_publish(struct peerpin_attach *a, unsigned int unplugs)
{
	struct peerpin_region *r = a->region;
	struct peerpin_attach *found;

	spin_lock_irq(&r->lock);
	found = attach_find_locked(r, a->peer);
	if (!found && a->provided && pp_unplug_missed(r, unplugs))
		found = ERR_PTR(-ESTALE);
	spin_lock(&a->peer->lock);
	if (!found && a->peer->dying)
		found = ERR_PTR(-ENODEV);
	if (!found) {
		pp_ref_get(&a->ref);	/* the lists' reference */
		a->listed = true;
		list_add_rcu(&a->in_region, &r->attaches);
		pp_region_count_map_locked(r);
		list_add(&a->in_peer, &a->peer->attaches);
		a->peer->count++;
	}
	spin_unlock(&a->peer->lock);
	spin_unlock_irq(&r->lock);
	return found ?: a;
}

static void attach_work(struct work_struct *work);

static struct peerpin_attach *attach_alloc(struct peerpin_peer *peer,
					   struct peerpin_region *r)
{
	struct peerpin_attach *a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);

	if (!a)
		return NULL;
	pp_ref_init(&a->ref, attach_release);
	INIT_LIST_HEAD(&a->in_peer);
	INIT_WORK(&a->work, attach_work);
	pp_region_get(r);
	a->region = r;
	kref_get(&peer->ref);
	a->peer = peer;
	return a;
}

/* Reads the extents as a user. The caller allocates afterwards: a user must not wait for memory. */
static int attach_count(struct peerpin_attach *a, u64 *entries)
{
	struct peerpin_region *r = a->region;
	int ret = pp_region_enter(r);

	if (ret)
		return ret;
	*entries = pp_map_init(&a->map, a->peer->dev, &r->extents,
			       r->provider->page_backed,
			       r->caching == PEERPIN_CACHING_CACHED);
	pp_region_leave(r);
	return 0;
}

static int attach_prepare(struct peerpin_attach *a)
{
	u64 entries;
	int ret;

	ret = pp_peer_enter(a->peer);
	if (ret)
		return ret;
	ret = attach_count(a, &entries);
	pp_peer_leave(a->peer);
	return ret ?: pp_map_alloc(&a->map, entries);
}

/* The caller is a user of region and peer, so the end of either waits for the caller. */
static struct peerpin_attach *attach_map(struct peerpin_attach *a)
{
	struct peerpin_region *r = a->region;
	struct peerpin_attach *winner;
	int ret;

	ret = pp_map_make(&a->map, &r->extents);
	if (ret)
		return ERR_PTR(ret);
	winner = attach_publish(a, 0);
	if (winner != a)
		pp_map_undo(&a->map, &r->extents);
	return winner;
}

static struct peerpin_attach *attach_map_guarded(struct peerpin_attach *a)
{
	struct peerpin_attach *winner;
	int ret;

	ret = pp_region_enter(a->region);
	if (ret)
		return ERR_PTR(ret);
	ret = pp_peer_enter(a->peer);
	if (ret) {
		winner = ERR_PTR(ret);
		goto out_region;
	}
	winner = attach_map(a);
	pp_peer_leave(a->peer);
out_region:
	pp_region_leave(a->region);
	return winner;
}

/*
 * The provider's map() may wait for a lock whose holder waits for the revocation of this
 * region. So the caller is not a user of the region here. A revocation at this time finds
 * no listed attachment; attach_publish() then finds that the region has ended. The unplug of
 * a device does not end the region then; attach_publish() finds that there was one.
 */
static struct peerpin_attach *attach_map_provided(struct peerpin_attach *a)
{
	struct peerpin_region *r = a->region;
	struct peerpin_attach *winner;
	struct sg_table *sgt;
	unsigned int unplugs;
	void *provided;
	int ret;

	unplugs = pp_unplug_count();
	provided = r->provider->map(r->priv, a->peer->dev, &sgt);
	if (IS_ERR(provided))
		return ERR_CAST(provided);
	a->provided = provided;
	ret = pp_map_adopt(&a->map, a->peer->dev, sgt, r->addr, r->length);
	if (ret == -EIO && !pp_region_is_live(r))	/* revoked memory has no bus address */
		ret = -ESTALE;
	winner = ret ? ERR_PTR(ret) : attach_publish(a, unplugs);
	if (winner != a)
		r->provider->unmap(provided);
	return winner;
}

static struct peerpin_attach *attach_map_by_provider(struct peerpin_attach *a)
{
	struct peerpin_attach *winner;
	int ret;

	ret = pp_peer_enter(a->peer);
	if (ret)
		return ERR_PTR(ret);
	winner = attach_map_provided(a);
	pp_peer_leave(a->peer);
	return winner;
}

static struct peerpin_attach *attach_map_extents(struct peerpin_attach *a)
{
	int ret = attach_prepare(a);

	return ret ? ERR_PTR(ret) : attach_map_guarded(a);
}

static struct peerpin_attach *attach_make(struct peerpin_peer *peer,
					  struct peerpin_region *r)
{
	struct peerpin_attach *a = attach_alloc(peer, r);
	struct peerpin_attach *winner;

	if (!a)
		return ERR_PTR(-ENOMEM);
	winner = r->provider->map ? attach_map_by_provider(a) :
				    attach_map_extents(a);
	if (winner != a)
		peerpin_attach_put(a);
	return winner;
}

/* Of threads that attach at the same moment, one maps; the others find its attachment. */
static struct peerpin_attach *attach_make_once(struct peerpin_peer *peer,
					       struct peerpin_region *r)
{
	struct peerpin_attach *a;
	int ret = pp_extents_read(r);

	if (ret)
		return ERR_PTR(ret);
	mutex_lock(&r->making);
	a = attach_find(r, peer) ?: attach_make(peer, r);
	mutex_unlock(&r->making);
	return a;
}

struct peerpin_attach *peerpin_attach(struct peerpin_peer *peer,
				      struct peerpin_region *r)
{
	struct peerpin_attach *a = attach_find(r, peer);
	u64 start;

	if (a)
		return a;
	start = pp_trace_start(attach);
	/*
	 * If the provider maps, peerpin_attach() does not hold @making: the provider's map() may wait for an
	 * exporter's lock, and its holder may wait for another thread that attaches.
	 */
	a = r->provider->map ? attach_make(peer, r) : attach_make_once(peer, r);
	trace_peerpin_attach(r, peer, a, start);
	return a;
}
EXPORT_SYMBOL_GPL(peerpin_attach);

const struct sg_table *peerpin_attach_sgt(const struct peerpin_attach *a)
{
	return &a->map.sgt;
}
EXPORT_SYMBOL_GPL(peerpin_attach_sgt);

bool peerpin_attach_bounced(const struct peerpin_attach *a)
{
	return a->map.bounced;
}
EXPORT_SYMBOL_GPL(peerpin_attach_bounced);

/* ---- the end -------------------------------------------------------------------- */

static bool attach_claim_stop(struct peerpin_attach *a)
{
	bool claim;

	spin_lock_irq(&a->region->lock);
	claim = a->inflight && !a->stopping && a->listed;
	pp_inflight_gather_locked(a);
	if (claim) {
		a->stopping = true;
		spin_lock(&a->peer->lock);
		a->peer->users++;
		spin_unlock(&a->peer->lock);
	}
	spin_unlock_irq(&a->region->lock);
	return claim;
}

void pp_attach_stop(struct peerpin_attach *a)
{
	if (!attach_claim_stop(a))
		return;
	if (a->peer->ops && a->peer->ops->stop)
		a->peer->ops->stop(a->peer->data, a);
	pp_peer_leave(a->peer);
}

/* True for the one caller that has to unmap. @users or @mappings counts the pending unmap. */
static bool attach_unlist(struct peerpin_attach *a)
{
	bool listed;

	spin_lock_irq(&a->region->lock);
	listed = a->listed;
	if (listed) {
		a->listed = false;
		list_del_rcu(&a->in_region);
		pp_ref_gather(&a->ref);
		spin_lock(&a->peer->lock);
		list_del_init(&a->in_peer);
		a->peer->count--;
		a->peer->users++;
		a->peer->strays += !!a->inflight;
		spin_unlock(&a->peer->lock);
		if (a->provided)
			a->region->mappings++;
		else
			a->region->users++;
	}
	spin_unlock_irq(&a->region->lock);
	return listed;
}

static void attach_unmap(struct peerpin_attach *a)
{
	pp_map_undo(&a->map, &a->region->extents);
	pp_peer_leave(a->peer);
	pp_region_leave(a->region);
	peerpin_attach_put(a);	/* the lists' reference */
}

/* In a work item, because the thread that drops @a may hold locks that unmap() takes. */
static void attach_work(struct work_struct *work)
{
	struct peerpin_attach *a =
		container_of(work, struct peerpin_attach, work);
	struct peerpin_region *r = a->region;

	r->provider->unmap(a->provided);
	pp_peer_leave(a->peer);
	spin_lock_irq(&r->lock);
	if (!--r->mappings)
		wake_up_all(&r->idle);
	spin_unlock_irq(&r->lock);
	peerpin_attach_put(a);	/* the lists' reference */
}

void pp_attach_drop(struct peerpin_attach *a)
{
	if (!attach_unlist(a))
		return;
	if (a->provided)
		queue_work(pp_lock_wq, &a->work);
	else
		attach_unmap(a);
}

bool pp_attach_is_idle(struct peerpin_attach *a)
{
	bool idle;

	spin_lock_irq(&a->region->lock);
	idle = !a->inflight;
	spin_unlock_irq(&a->region->lock);
	return idle;
}

/* The first attachment with DMA in flight whose driver was not asked to stop yet */
static struct peerpin_attach *attach_to_stop(struct peerpin_region *r)
{
	struct peerpin_attach *a;

	spin_lock_irq(&r->lock);
	list_for_each_entry(a, &r->attaches, in_region) {
		if (a->inflight && !a->stopping) {
			pp_ref_get(&a->ref);
			goto out;
		}
	}
	a = NULL;
out:
	spin_unlock_irq(&r->lock);
	return a;
}

void pp_attach_stop_all(struct peerpin_region *r)
{
	struct peerpin_attach *a;

	while ((a = attach_to_stop(r))) {
		pp_attach_stop(a);
		peerpin_attach_put(a);
	}
}

void pp_attach_name_busy(struct peerpin_region *r)
{
	struct pp_late late;
	struct peerpin_attach *a;
	unsigned int i;

	late.count = 0;
	spin_lock_irq(&r->lock);
	list_for_each_entry(a, &r->attaches, in_region) {
		if (!a->inflight)
			continue;
		atomic64_inc(&a->peer->timeouts);
		pp_late_note(&late, a->peer->dev);
	}
	spin_unlock_irq(&r->lock);
	for (i = 0; i < late.count; i++)
		pr_err_ratelimited("peerpin: %s still has DMA in flight on memory that is being given up; its driver must end DMA when stop() or peerpin_dma_stale() asks\n",
				   late.device[i]);
}

static struct peerpin_attach *attach_first(struct peerpin_region *r)
{
	struct peerpin_attach *a;

	spin_lock_irq(&r->lock);
	a = list_first_entry_or_null(&r->attaches, struct peerpin_attach,
				     in_region);
	if (a)
		pp_ref_get(&a->ref);
	spin_unlock_irq(&r->lock);
	return a;
}

phys_addr_t pp_attach_phys(struct peerpin_region *r)
{
	struct peerpin_attach *a;
	phys_addr_t phys;

	spin_lock_irq(&r->lock);
	a = list_first_entry_or_null(&r->attaches, struct peerpin_attach,
				     in_region);
	phys = a ? a->map.phys : 0;
	spin_unlock_irq(&r->lock);
	return phys;
}

void pp_attach_drop_all(struct peerpin_region *r)
{
	struct peerpin_attach *a;

	while ((a = attach_first(r))) {
		pp_attach_drop(a);
		peerpin_attach_put(a);
	}
}

void pp_attach_show(struct peerpin_region *r, struct seq_file *m)
{
	const char *separator = "";
	struct peerpin_attach *a;

	spin_lock_irq(&r->lock);
	list_for_each_entry(a, &r->attaches, in_region) {
		seq_printf(m, "%s%s", separator, dev_name(a->peer->dev));
		separator = ",";
	}
	separator = pp_export_show_locked(r, m, separator);
	if (!*separator)
		seq_puts(m, "-");
	spin_unlock_irq(&r->lock);
}

unsigned int pp_attach_count(struct peerpin_region *r)
{
	struct peerpin_attach *a;
	unsigned int n = 0;

	spin_lock_irq(&r->lock);
	list_for_each_entry(a, &r->attaches, in_region)
		n++;
	n += pp_export_count_locked(r);
	spin_unlock_irq(&r->lock);
	return n;
}
