// SPDX-License-Identifier: GPL-2.0
/*
 * A provider whose pins cost nothing, for benchmarks of the core. It registers as TEGRA and pins
 * any address. TEGRA must not be loaded.
 */
#include <linux/module.h>
#include "../../kmod/core/region/provider.h"

/* No device of the VM reaches this address: attaching a peer fails. */
#define NOWHERE (1ull << 50)

static int null_pin(void *priv, const struct pp_request *req, struct pp_why *why)
{
	*(u64 *)priv = req->length;
	return 0;
}

static void null_extents(void *priv, struct pp_extents *x)
{
	pp_extents_add(x, NOWHERE, *(u64 *)priv);
}

static void null_give_back(void *priv)
{
}

static const struct pp_provider null_provider = {
	.owner = THIS_MODULE,
	.name = "null",
	.id = PEERPIN_PROVIDER_TEGRA,
	.page_size = 4096,
	.priv_size = sizeof(u64),
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
