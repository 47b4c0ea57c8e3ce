// SPDX-License-Identifier: GPL-2.0
/* Regions pinned by a driver; kmod/include/peerpin.h has the contract. */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include "../region/account.h"
#include "attach.h"
#include "../region/close.h"
#include "../region/pin.h"
#include "../region/region.h"

static struct peerpin_region *driver_pin(const struct peerpin_range *range,
					 struct pp_why *why)
{
	const struct pp_request want = {
		.addr = range->addr,
		.length = range->length,
		.fd = range->fd,
	};
	struct pp_account *account;
	struct peerpin_region *r;

	account = pp_account_get(task_tgid(current));
	if (!account) {
		why->reason = PEERPIN_REASON_NO_MEMORY;
		return ERR_PTR(-ENOMEM);
	}
	r = pp_region_pin(range->provider, range->flags, &want, account, NULL,
			  why);
	pp_account_put(account);
	return r;
}

struct peerpin_region *peerpin_region_pin(const struct peerpin_range *range,
					  u32 *reason)
{
	struct pp_why why = {};
	struct peerpin_region *r;
	int ret;

	ret = pp_region_check(range->addr, range->length, range->provider,
			      range->flags, range->fd);
	r = ret ? ERR_PTR(ret) : driver_pin(range, &why);
	if (reason)
		*reason = why.reason;
	return r;
}
EXPORT_SYMBOL_GPL(peerpin_region_pin);

/* Drops the pin's reference. Each attachment of the driver keeps its own reference. */
void peerpin_region_unpin(struct peerpin_region *r)
{
	pp_region_close(r);
}
EXPORT_SYMBOL_GPL(peerpin_region_unpin);

void peerpin_region_put(struct peerpin_region *r)
{
	pp_region_put(r);
}
EXPORT_SYMBOL_GPL(peerpin_region_put);

u64 peerpin_region_length(const struct peerpin_region *r)
{
	return r->length;
}
EXPORT_SYMBOL_GPL(peerpin_region_length);

u64 peerpin_region_start(const struct peerpin_region *r)
{
	return r->addr;
}
EXPORT_SYMBOL_GPL(peerpin_region_start);
