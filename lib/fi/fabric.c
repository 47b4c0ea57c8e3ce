// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include "fabric.h"

/*
 * A plugin that was loaded without RTLD_GLOBAL may have loaded libfabric, and RTLD_NEXT does not find it
 * then. The handle is kept: the caches call the monitor until libfabric ends, and the thread calls libfabric.
 */
static void *handle(void)
{
	void *h = dlopen("libfabric.so.1", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);

	return h ? h : RTLD_NEXT;
}

int pp_fabric_find(struct pp_fabric *out)
{
	void *h = handle();

	*(void **)&out->version = dlsym(h, "fi_version");
	*(void **)&out->open = dlvsym(h, "fi_open", "FABRIC_1.5");
	if (!out->version)
		return -ENOENT;
	return out->open ? 0 : -EOPNOTSUPP;
}

void *pp_fabric_symbol(const char *function, const char *version)
{
	return dlvsym(handle(), function, version);
}
