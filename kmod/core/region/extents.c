// SPDX-License-Identifier: GPL-2.0
/*
 * A region's physical extents. The list is made by the first mapping, not by the pin:
 * most regions are never mapped.
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

static void extents_cut(const struct pp_extents *from, u64 offset, u64 length,
			struct pp_extents *to)
{
	u64 skip, take;
	u32 i;

	for (i = 0; i < from->count && length; i++) {
		skip = min(offset, from->at[i].length);
		take = min(from->at[i].length - skip, length);
		if (take)
			pp_extents_add(to, from->at[i].phys + skip, take);
		offset -= skip;
		length -= take;
	}
}

/* Runs as a user of @r, so that no revocation releases the page table meanwhile. */
static int extents_append(struct peerpin_region *r, u64 offset, u64 length, struct pp_extents *x)
{
	int ret = pp_region_enter(r);

	if (ret)
		return ret;
	/* pairs with extents_publish() */
	if (smp_load_acquire(&r->extents.at))
		extents_cut(&r->extents, offset, length, x);
	else
		r->provider->extents(r->priv, x);
	pp_region_leave(r);
	return x->bytes == length ? 0 : -EIO;
}

/*
 * Counts the extents, allocates @x->at, and lists the extents. The thread is no user during the
 * allocation: a user must not wait for memory. The caller frees @x->at, after a failure too.
 */
static int extents_make(struct peerpin_region *r, u64 offset, u64 length, struct pp_extents *x)
{
	struct pp_extents counted = {};
	int ret = extents_append(r, offset, length, &counted);

	if (ret)
		return ret;
	x->room = counted.count;
	x->at = kvmalloc_array(x->room, sizeof(*x->at), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return x->at ? extents_append(r, offset, length, x) : -ENOMEM;
}

/* After the region's end no list may be published: pp_extents_free() may have run. */
static int extents_publish(struct peerpin_region *r, struct pp_extents *x)
{
	int ret = 0;

	spin_lock_irq(&r->lock);
	if (r->state != PP_LIVE) {
		ret = -ESTALE;
	} else {
		r->extents.count = x->count;
		/* pairs with the acquire loads: a reader of @at sees the list */
		smp_store_release(&r->extents.at, x->at);
		x->at = NULL;
	}
	spin_unlock_irq(&r->lock);
	return ret;
}

int pp_extents_read(struct peerpin_region *r)
{
	struct pp_extents x = {};
	int ret = 0;

	if (!r->provider->extents)
		return -EOPNOTSUPP;
	/* pairs with extents_publish() */
	if (smp_load_acquire(&r->extents.at))
		return 0;
	mutex_lock(&r->making);
	if (!READ_ONCE(r->extents.at))
		ret = extents_make(r, 0, r->length, &x) ?: extents_publish(r, &x);
	mutex_unlock(&r->making);
	kvfree(x.at);
	return ret;
}

int pp_extents_read_part(struct peerpin_region *r, u64 offset, u64 length, struct pp_extents *x)
{
	return pp_extents_read(r) ?: extents_make(r, offset, length, x);
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
