/* SPDX-License-Identifier: MIT */
/*
 * libpeerpin-fi: a memory monitor for libfabric.
 *
 * libfabric caches registrations of memory. Its own monitors intercept munmap() and similar calls
 * and miss some of them, for example raw system calls. Then a hit returns the registration of pages
 * that the program has freed. This library's monitor checks each hit by the revocation page of
 * peerpin.ko (pp_watch(3), pp_region(3)), which the kernel changes before the pages can be reused.
 *
 * LD_PRELOAD=libpeerpin-fi.so.1 imports the monitor before the program's first fi_fabric(). A
 * program that cannot be preloaded calls pp_fi_import(). libpeerpin-fi(3) has the limits.
 */
#ifndef LIBPEERPIN_FI_H
#define LIBPEERPIN_FI_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * pp_fi_import - make this library the memory monitor of libfabric in this process
 *
 * Call after fi_getinfo() and before the first fi_domain(). The monitor stays until the process
 * ends, and libfabric stays loaded. After a successful import a call only looks for provider modules. In a child of fork()
 * the caches treat all registrations of the parent as stale.
 *
 * Context: any thread; not in a signal handler. No cancellation point.
 *
 * Return: 0; -ENOENT libfabric.so.1 is not loaded; -EOPNOTSUPP libfabric is older than 1.14 or needs
 * a newer libpeerpin-fi, or the kernel module has no watches, or a provider module with a cache of its
 * own is loaded (verbs, efa or opx as libverbs-fi.so and so on): then the providers in libfabric.so.1
 * have the monitor, and the module keeps its own; -EBUSY libfabric has another imported monitor or
 * uses one already, or FI_MR_CACHE_MONITOR is set; -ENOMEM; or the error of pp_open().
 */
int pp_fi_import(void);

#ifdef __cplusplus
}
#endif

#endif
