// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <string.h>
#include "net.h"

struct net net;

static const struct {
	const char *lib;
	const char *name;
	void *function;
} symbols[] = {
	{ "libibverbs.so.1", "ibv_wc_status_str", &net.status_text },
	{ "librdmacm.so.1", "rdma_getaddrinfo", &net.getaddrinfo },
	{ "librdmacm.so.1", "rdma_freeaddrinfo", &net.freeaddrinfo },
	{ "librdmacm.so.1", "rdma_create_ep", &net.create_ep },
	{ "librdmacm.so.1", "rdma_destroy_ep", &net.destroy_ep },
	{ "librdmacm.so.1", "rdma_connect", &net.connect },
	{ "librdmacm.so.1", "rdma_disconnect", &net.disconnect },
	{ "librdmacm.so.1", "rdma_listen", &net.listen },
	{ "librdmacm.so.1", "rdma_get_request", &net.get_request },
	{ "librdmacm.so.1", "rdma_accept", &net.accept },
	{ "libpeerpin-verbs.so.1", "pp_verbs_open", &net.verbs_open },
	{ "libpeerpin-verbs.so.1", "pp_verbs_close", &net.verbs_close },
	{ "libpeerpin-verbs.so.1", "pp_verbs_reg", &net.reg },
	{ "libpeerpin-verbs.so.1", "pp_verbs_unreg", &net.unreg },
	{ "libpeerpin-verbs.so.1", "pp_verbs_cache", &net.cache },
	{ "libpeerpin-verbs.so.1", "pp_verbs_explain", &net.explain },
};

int net_load(struct perf_why *why)
{
	void *lib, *at;
	size_t i;

	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		lib = dlopen(symbols[i].lib, RTLD_NOW | RTLD_GLOBAL);
		if (!lib)
			return perf_refuse(why, "%s is not installed; type: apt-get install librdmacm1 libpeerpin-verbs1",
					   symbols[i].lib);
		at = dlsym(lib, symbols[i].name);
		if (!at)
			return perf_refuse(why, "%s has no %s; install a newer one", symbols[i].lib, symbols[i].name);
		memcpy(symbols[i].function, &at, sizeof(at));
	}
	return 0;
}
