// SPDX-License-Identifier: GPL-2.0
/* Making a region: pin the memory, check it, make the region live. */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include "account.h"
#include "close.h"
#include "cookie.h"
#include "counts.h"
#include "epoch.h"
#include "pin.h"
#include "region.h"
#include "unplug.h"
#include "../node/trace.h"

int pp_region_check(u64 addr, u64 length, u32 provider, u32 flags, int fd)
{
	u64 end;

	if (flags & ~(PEERPIN_PIN_PERSISTENT | PEERPIN_PIN_PCIE))
		return -EOPNOTSUPP;
	/* leave room for rounding up to any provider's page */
	if (!length || length > PEERPIN_MMAP_SPAN - SZ_1M ||
	    check_add_overflow(addr, length, &end) ||
	    check_add_overflow(end, (u64)SZ_1M, &end))
		return -EINVAL;
	if (provider > PEERPIN_PROVIDER_DMABUF)
		return -EINVAL;
	if (fd && provider != PEERPIN_PROVIDER_DMABUF)
		return -EINVAL;
	return 0;
}

static void pin_set_range(struct peerpin_region *r, const struct pp_request *want)
{
	u64 mask = r->provider->page_size - 1;

	r->addr = want->addr & ~mask;
	r->length = ((want->addr + want->length + mask) & ~mask) - r->addr;
}

/* Takes over the reference on @provider, on failure too. */
static struct peerpin_region *pin_new(const struct pp_provider *provider,
				      const struct pp_request *want,
				      struct pp_account *account, u32 *epoch)
{
	struct peerpin_region *r = pp_region_alloc(provider, account);

	if (!r) {
		pp_provider_put(provider);
		return NULL;
	}
	r->epoch = epoch ?: &r->own_epoch;
	pin_set_range(r, want);
	if (pp_cookie_insert(r)) {
		pp_region_put(r);
		return NULL;
	}
	r->pin_epoch = pp_epoch_begin(r->epoch);
	return r;
}

static int pin_check_range(const struct peerpin_region *r,
			   const struct pp_request *want, struct pp_why *why)
{
	if (!r->provider->exact ||
	    (r->addr == want->addr && r->length == want->length))
		return 0;
	why->reason = PEERPIN_REASON_UNALIGNED;
	return -EINVAL;
}

static int pin_pages(struct peerpin_region *r, const struct pp_request *want,
		     struct pp_why *why)
{
	struct pp_request req = *want;
	int ret = pin_check_range(r, want, why);

	if (!ret)
		ret = pp_account_charge(r->account, r->length, why);
	if (ret)
		return ret;
	atomic64_set(&r->charged, r->length);
	req.addr = r->addr;
	req.length = r->length;
	req.cookie = r->cookie;
	return r->provider->pin(r->priv, &req, why);
}

static int pin_look_locked(struct peerpin_region *r)
{
	lockdep_assert_held(&r->lock);
	if (!r->provider->look)
		return 0;
	return r->provider->look(r->priv, r->length, &r->caching);
}

/*
 * Fails if the pages were revoked during or after pin(), or if the unplug of a device may have missed
 * them. look() runs under the lock, so that no revocation releases the pages meanwhile.
 */
static int pin_open(struct peerpin_region *r, unsigned int unplugs)
{
	int ret = -ESTALE;

	spin_lock_irq(&r->lock);
	if (r->state == PP_PINNING) {
		/* look() before LIVE, because users of a live region read the page table */
		ret = pp_unplug_missed(r, unplugs) ? -ESTALE : pin_look_locked(r);
		pp_region_move_locked(r, PP_LIVE);
		if (ret)
			pp_region_end_locked(r, PP_CLOSED);
	}
	spin_unlock_irq(&r->lock);
	if (!ret)
		pp_account_count_pin(r->account);
	return ret;
}

/* Takes over a reference on @provider, on failure too. */
static struct peerpin_region *pin_once(const struct pp_provider *provider,
				       const struct pp_request *want,
				       struct pp_account *account, u32 *epoch,
				       struct pp_why *why)
{
	struct peerpin_region *r = pin_new(provider, want, account, epoch);
	unsigned int unplugs = pp_unplug_count();
	int ret;

	*why = (struct pp_why){};
	if (!r) {
		why->reason = PEERPIN_REASON_NO_MEMORY;
		return ERR_PTR(-ENOMEM);
	}
	ret = pin_pages(r, want, why);
	if (ret)
		goto err_forget;
	ret = pin_open(r, unplugs);
	if (ret) {
		why->reason = ret == -ESTALE ? PEERPIN_REASON_REVOKED : PEERPIN_REASON_VENDOR_ERROR;
		pp_region_close(r);
		return ERR_PTR(ret);
	}
	return r;

err_forget:
	pp_region_end(r, PP_CLOSED);
	pp_region_uncharge(r);
	pp_cookie_erase(r);	/* no cleanup(), as pin() has failed */
	pp_region_put(r);
	return ERR_PTR(ret);
}

/*
 * Takes over the caller's reference on @provider. A process may replace its pages again and again, so the number of
 * tries is bounded, and any signal ends them.
 */
static struct peerpin_region *pin_by(const struct pp_provider *provider,
				     const struct pp_request *want,
				     struct pp_account *account, u32 *epoch,
				     struct pp_why *why)
{
	unsigned int tries = max(provider->tries, 1u);
	struct peerpin_region *r;

	do {
		__module_get(provider->owner);
		r = pin_once(provider, want, account, epoch, why);
		if (r == ERR_PTR(-ESTALE) && provider->tries && signal_pending(current)) {
			*why = (struct pp_why){};
			r = ERR_PTR(-EINTR);
		}
	} while (r == ERR_PTR(-ESTALE) && --tries);
	pp_provider_put(provider);
	return r;
}

/*
 * True: the next provider has to be asked.
 * -EINVAL: the memory is not this provider's.
 * -EDQUOT: the range exceeds a limit when rounded to this provider's pages. The provider was
 *	not asked; the right provider may round up less.
 * -EOPNOTSUPP: the GPU driver of this provider cannot pin.
 */
static bool pin_may_be_anothers(int error)
{
	return error == -EINVAL || error == -EDQUOT || error == -EOPNOTSUPP;
}

/* If no provider takes the memory, report the last error that is not -EINVAL, if any. */
static struct peerpin_region *pin_auto(u32 flags, const struct pp_request *want,
				       struct pp_account *account, u32 *epoch,
				       struct pp_why *why)
{
	struct pp_why refused = { .reason = PEERPIN_REASON_NO_PROVIDER };
	const struct pp_provider *provider;
	struct peerpin_region *r;
	unsigned int nth = 0;
	int ret = -EOPNOTSUPP;

	while ((provider = pp_provider_next(flags, &nth))) {
		r = pin_by(provider, want, account, epoch, why);
		if (!IS_ERR(r) || !pin_may_be_anothers(PTR_ERR(r)))
			return r;
		if (PTR_ERR(r) != -EINVAL) {
			refused = *why;
			ret = PTR_ERR(r);
		} else if (refused.reason == PEERPIN_REASON_NO_PROVIDER) {
			refused = (struct pp_why){ .reason = PEERPIN_REASON_NOT_MAPPED };
			ret = -EINVAL;
		}
	}
	*why = refused;
	return ERR_PTR(ret);
}

static struct peerpin_region *pin_any(u32 provider, u32 flags,
				      const struct pp_request *want,
				      struct pp_account *account, u32 *epoch,
				      struct pp_why *why)
{
	const struct pp_provider *p;

	if (provider == PEERPIN_PROVIDER_AUTO)
		return pin_auto(flags, want, account, epoch, why);
	p = pp_provider_get(provider, flags);
	if (!p) {
		why->reason = PEERPIN_REASON_NO_PROVIDER;
		return ERR_PTR(-EOPNOTSUPP);
	}
	return pin_by(p, want, account, epoch, why);
}

struct peerpin_region *pp_region_pin(u32 provider, u32 flags,
				     const struct pp_request *want,
				     struct pp_account *account, u32 *epoch,
				     struct pp_why *why)
{
	u64 start = pp_trace_start(pin);
	struct peerpin_region *r;

	r = pin_any(provider, flags, want, account, epoch, why);
	if (IS_ERR(r))
		pp_count(refused);
	trace_peerpin_pin(want, provider, flags, r, why, start);
	return r;
}
