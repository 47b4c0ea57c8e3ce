// SPDX-License-Identifier: GPL-2.0
#include <linux/export.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include "provider.h"
#include "revoke.h"

/*
 * The order in which PEERPIN_PROVIDER_AUTO asks the providers. GPU drivers recognise their own
 * memory; the host provider would pin other memory too, so it comes last.
 */
static const u32 ask_order[] = {
	PEERPIN_PROVIDER_NV,
	PEERPIN_PROVIDER_TEGRA,
	PEERPIN_PROVIDER_HOST,
};

enum {
	PROVIDER_IDS = PEERPIN_PROVIDER_DMABUF + 1,
	PROVIDER_KINDS = (PEERPIN_PIN_PERSISTENT | PEERPIN_PIN_PCIE) + 1,
};

/* Indexed by id and flags. Read under RCU, so that pins do not contend for a lock. */
static DEFINE_MUTEX(providers_lock);
static const struct pp_provider __rcu *providers[PROVIDER_IDS][PROVIDER_KINDS];

int pp_provider_register(const struct pp_provider *provider)
{
	const struct pp_provider __rcu **place =
		&providers[provider->id][provider->flags];
	int ret = -EEXIST;

	mutex_lock(&providers_lock);
	if (!rcu_access_pointer(*place)) {
		rcu_assign_pointer(*place, provider);
		ret = 0;
	}
	mutex_unlock(&providers_lock);
	return ret;
}
EXPORT_SYMBOL(pp_provider_register);

void pp_provider_unregister(const struct pp_provider *provider)
{
	mutex_lock(&providers_lock);
	RCU_INIT_POINTER(providers[provider->id][provider->flags], NULL);
	mutex_unlock(&providers_lock);
	synchronize_rcu();
	pp_region_barrier();
}
EXPORT_SYMBOL(pp_provider_unregister);

const struct pp_provider *pp_provider_get(u32 id, u32 flags)
{
	const struct pp_provider *provider;

	id = array_index_nospec(id, ARRAY_SIZE(providers));
	flags = array_index_nospec(flags, ARRAY_SIZE(*providers));
	rcu_read_lock();
	provider = rcu_dereference(providers[id][flags]);
	if (provider && !try_module_get(provider->owner))
		provider = NULL;
	rcu_read_unlock();
	return provider;
}

const struct pp_provider *pp_provider_next(u32 flags, unsigned int *nth)
{
	const struct pp_provider *provider = NULL;

	while (!provider && *nth < ARRAY_SIZE(ask_order))
		provider = pp_provider_get(ask_order[(*nth)++], flags);
	return provider;
}

void pp_provider_put(const struct pp_provider *provider)
{
	module_put(provider->owner);
}
