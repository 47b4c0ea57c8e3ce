// SPDX-License-Identifier: GPL-2.0
#include <linux/export.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include "provider.h"
#include "region.h"

/*
 * In the order in which AUTO asks. A GPU's driver knows for certain what is
 * its own; system memory is whatever is left.
 */
static const u32 ask_order[] = { PEERPIN_PROVIDER_NV, PEERPIN_PROVIDER_HOST };

static DEFINE_MUTEX(providers_lock);
static const struct pp_provider *providers[ARRAY_SIZE(ask_order) + 1];

int pp_provider_register(const struct pp_provider *provider)
{
	int ret = 0;

	mutex_lock(&providers_lock);
	if (providers[provider->id])
		ret = -EEXIST;
	else
		providers[provider->id] = provider;
	mutex_unlock(&providers_lock);
	return ret;
}
EXPORT_SYMBOL(pp_provider_register);

void pp_provider_unregister(const struct pp_provider *provider)
{
	mutex_lock(&providers_lock);
	providers[provider->id] = NULL;
	mutex_unlock(&providers_lock);
	pp_region_barrier();
}
EXPORT_SYMBOL(pp_provider_unregister);

static const struct pp_provider *provider_hold(u32 id)
{
	const struct pp_provider *provider;

	mutex_lock(&providers_lock);
	provider = providers[id];
	if (provider && !try_module_get(provider->owner))
		provider = NULL;
	mutex_unlock(&providers_lock);
	return provider;
}

const struct pp_provider *pp_provider_get(u32 id)
{
	return id < ARRAY_SIZE(providers) ? provider_hold(id) : NULL;
}

const struct pp_provider *pp_provider_next(unsigned int *nth)
{
	const struct pp_provider *provider = NULL;

	while (!provider && *nth < ARRAY_SIZE(ask_order))
		provider = provider_hold(ask_order[(*nth)++]);
	return provider;
}

void pp_provider_put(const struct pp_provider *provider)
{
	module_put(provider->owner);
}

void pp_extents_add(struct pp_extents *x, phys_addr_t phys, u64 length)
{
	struct pp_extent *last = x->at + x->count - 1;

	x->bytes += length;
	if (x->count && last->phys + last->length == phys)
		last->length += length;
	else if (x->count < x->room)
		x->at[x->count++] = (struct pp_extent){ phys, length };
}
EXPORT_SYMBOL(pp_extents_add);
