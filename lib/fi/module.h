/* SPDX-License-Identifier: MIT */
/*
 * Provider modules: providers of libfabric that are libraries of their own. libfabric loads them in fi_getinfo(). Each
 * contains a copy of libfabric's code for caches and monitors, with its own monitor. fi_open("mr_cache") reaches only the
 * code in libfabric.so.1, so the cache of a module never calls an imported monitor.
 */
#ifndef PP_FI_MODULE_H
#define PP_FI_MODULE_H

#include <stdbool.h>

/** struct pp_module - @name: of its file, without the directory */
struct pp_module {
	char name[64];
};

/* Is a module with a cache of host memory loaded? Any thread, without a lock */
bool pp_module_find(struct pp_module *out);

#endif
