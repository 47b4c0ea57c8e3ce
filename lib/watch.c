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

bool pp_watch_has_hook(void)
{
	return hook_add();
}

int pp_watch_begin(struct pp_cache **cache, bool hook)
{
	int ret;

	if (!hook)
		return 0;
	ret = hook_add() ? hook_add()(gone, *cache) : -EOPNOTSUPP;
	if (ret)
		pp_cache_destroy(*cache);
	else
		pp_cache_set_hooked(*cache, (typeof(pp_hook_is_going) *)dlsym(RTLD_DEFAULT, "pp_hook_is_going"));
	return ret;
}

void pp_watch_end(struct pp_cache *cache)
{
	typeof(pp_hook_remove) *hook_remove;

	hook_remove = (typeof(pp_hook_remove) *)dlsym(RTLD_DEFAULT, "pp_hook_remove");
	if (hook_remove)
		hook_remove(gone, cache);
}
