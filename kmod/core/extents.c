// SPDX-License-Identifier: GPL-2.0
/*
 * The list of a region's pages. It is made when something is first mapped, not
 * when the region is pinned: many are pinned and few are long.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "extents.h"
#include "region.h"

void pp_extents_add(struct pp_extents *x, phys_addr_t phys, u64 length)
{
	bool continues = x->count && x->last == phys;

	x->bytes += length;
	x->last = phys + length;
	if (!continues)
		x->count++;
	cond_resched();
	if (x->count > x->room)
		return;
	if (continues)
		x->at[x->count - 1].length += length;
	else
		x->at[x->count - 1] = (struct pp_extent){ phys, length };
}
EXPORT_SYMBOL(pp_extents_add);

/* As a user, so that a revocation waits before it releases the page table. */
static int extents_count(struct peerpin_region *r, u32 *count)
{
	struct pp_extents x = {};
	int ret;

	ret = pp_region_enter(r);
	if (ret)
		return ret;
	r->provider->extents(r->priv, &x);
	pp_region_leave(r);
	*count = x.count;
	return x.bytes == r->length ? 0 : -EIO;
}

/* The first of two threads wins. Who sees @at sees the list. */
static bool extents_publish(struct peerpin_region *r, struct pp_extents *x)
{
	bool publish;

	spin_lock_irq(&r->lock);
	publish = !r->extents.at;
	if (publish) {
		r->extents.count = x->count;
		/* pairs with pp_extents_read() */
		smp_store_release(&r->extents.at, x->at);
	}
	spin_unlock_irq(&r->lock);
	return publish;
}

static int extents_list(struct peerpin_region *r, struct pp_extents *x)
{
	bool published;
	int ret;

	ret = pp_region_enter(r);
	if (ret)
		return ret;
	r->provider->extents(r->priv, x);
	published = extents_publish(r, x);
	pp_region_leave(r);
	return published ? 0 : -EEXIST;
}

/* Memory is taken between two rounds, when we are no user. */
int pp_extents_read(struct peerpin_region *r)
{
	struct pp_extents x = {};
	int ret;

	if (!r->provider->extents)
		return -EOPNOTSUPP;
	/* pairs with extents_publish() */
	if (smp_load_acquire(&r->extents.at))
		return 0;
	ret = extents_count(r, &x.room);
	if (ret)
		return ret;
	x.at = kvmalloc_array(x.room, sizeof(*x.at),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!x.at)
		return -ENOMEM;
	ret = extents_list(r, &x);
	if (ret)
		kvfree(x.at);
	return ret == -EEXIST ? 0 : ret;
}

u32 pp_extents_counted(struct peerpin_region *r)
{
	u32 count = 0;

	spin_lock_irq(&r->lock);
	if (r->state == PP_LIVE && r->extents.at)
		count = r->extents.count;
	spin_unlock_irq(&r->lock);
	return count;
}

void pp_extents_free(struct peerpin_region *r)
{
	kvfree(r->extents.at);
}
