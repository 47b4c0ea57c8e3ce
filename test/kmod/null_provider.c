// SPDX-License-Identifier: GPL-2.0
/*
 * A provider whose pins cost nothing, for benchmarks of the core and for regions larger than any
 * memory. It registers as TEGRA and pins any address. TEGRA must not be loaded.
 */
#include <linux/minmax.h>
#include <linux/module.h>
#include "../../kmod/core/region/provider.h"

/* No device of the VM reaches this address: attaching a peer fails. Platform devices of core_check reach it. */
#define NOWHERE (1ull << 50)

static unsigned long base;
module_param(base, ulong, 0444);
MODULE_PARM_DESC(base, "physical address of the address 0, so that regions have different addresses; not RAM. 0: all regions are NOWHERE");

struct null_pin {
	u64 phys;
	u64 length;
};

static unsigned long piece;
module_param(piece, ulong, 0444);
MODULE_PARM_DESC(piece, "bytes of each extent, with as many bytes between two extents; 0: a region is one extent");

static int null_pin(void *priv, const struct pp_request *req, struct pp_why *why)
{
	*(struct null_pin *)priv = (struct null_pin){ base ? base + req->addr : NOWHERE, req->length };
	return 0;
}

static void null_extents(void *priv, struct pp_extents *x)
{
	const struct null_pin *p = priv;
	u64 size = piece ?: p->length, done;

	for (done = 0; done < p->length; done += size)
		pp_extents_add(x, p->phys + 2 * done, min(size, p->length - done));
}

static void null_give_back(void *priv)
{
}

static const struct pp_provider null_provider = {
	.owner = THIS_MODULE,
	.name = "null",
	.id = PEERPIN_PROVIDER_TEGRA,
	.page_size = 4096,
	.priv_size = sizeof(struct null_pin),
	.pin = null_pin,
	.extents = null_extents,
	.release = null_give_back,
	.unpin = null_give_back,
};

static int __init null_init(void)
{
	return pp_provider_register(&null_provider);
}

static void __exit null_exit(void)
{
	pp_provider_unregister(&null_provider);
}

module_init(null_init);
module_exit(null_exit);
MODULE_DESCRIPTION("peerpin provider of nothing, for benchmarks");
MODULE_LICENSE("GPL");
