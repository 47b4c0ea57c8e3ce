// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include "libpeerpin-hook.h"
#include "regcache.h"
#include "watch.h"

static typeof(pp_hook_add) *hook_add(void)
{
	return (typeof(pp_hook_add) *)dlsym(RTLD_DEFAULT, "pp_hook_add");
}

static void gone(void *arg, uint64_t addr, uint64_t length)
{
	pp_cache_invalidate(arg, (void *)(uintptr_t)addr, length);
}

static int begin(struct pp_cache *cache)
{
	int ret = hook_add() ? hook_add()(gone, cache) : -EOPNOTSUPP;

	if (!ret)
		pp_cache_set_hooked(cache, (typeof(pp_hook_is_going) *)dlsym(RTLD_DEFAULT, "pp_hook_is_going"));
	return ret;
}

int pp_watch_make(const struct pp_cache_ops *ops, const struct pp_cache_attr *attr, struct pp_cache **out)
{
	struct pp_cache *cache;
	int ret = pp_cache_make(ops, NULL, attr, &cache);

	if (ret)
		return ret;
	ret = begin(cache);
	if (ret)
		pp_cache_destroy(cache);
	else
		*out = cache;
	return ret;
}

void pp_watch_end(struct pp_cache *cache)
{
	typeof(pp_hook_remove) *hook_remove;

	hook_remove = (typeof(pp_hook_remove) *)dlsym(RTLD_DEFAULT, "pp_hook_remove");
	if (hook_remove)
		hook_remove(gone, cache);
}
