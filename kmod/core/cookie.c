// SPDX-License-Identifier: GPL-2.0
#include <linux/rcupdate.h>
#include <linux/xarray.h>
#include "cookie.h"
#include "region.h"

static DEFINE_XARRAY(cookies);
static atomic64_t last_cookie = ATOMIC64_INIT(0);

int pp_cookie_insert(struct pp_region *r)
{
	r->cookie = atomic64_inc_return(&last_cookie);
	return xa_insert(&cookies, r->cookie, r, GFP_KERNEL_ACCOUNT);
}

void pp_cookie_erase(struct pp_region *r)
{
	xa_erase(&cookies, r->cookie);
}

/* A region that is found may be on its way out: its memory is freed by RCU. */
struct pp_region *pp_cookie_find(unsigned long cookie)
{
	struct pp_region *r;

	rcu_read_lock();
	r = xa_load(&cookies, cookie);
	if (r && !kref_get_unless_zero(&r->ref))
		r = NULL;
	rcu_read_unlock();
	return r;
}
