/* SPDX-License-Identifier: MIT */
/* The module under test. */
#ifndef JUDGE_DRIVER_H
#define JUDGE_DRIVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "emu/judge/share.h"

struct driver {
	const char *file;
	const char *parameters;
	char name[64];	/* name of the module in the kernel */
};

/** driver_init - set @driver from "FILE.ko K=V ..."; keeps and modifies @file; returns modinfo_name() */
int driver_init(struct driver *driver, char *file);

/** driver_is_loaded - whether the module is loaded now; if true before driver_load(), judge.ko missed its init */
bool driver_is_loaded(const struct driver *driver);

/** driver_load - returns 0, -errno of finit_module(), -ETIMEDOUT, or -EFAULT: the loading process was killed */
int driver_load(const struct driver *driver);

/** driver_unload - returns like driver_load(), but -EWOULDBLOCK at once if the module is in use */
int driver_unload(const struct driver *driver);

/** driver_unload_patiently - unload; retry while in use, because a kernel worker may drop the last reference late */
int driver_unload_patiently(const struct driver *driver);

/** driver_is_bound - whether a device is bound to @driver */
bool driver_is_bound(const struct driver *driver);

/** driver_unbind - a child process unbinds all devices of @driver; returns the child for child_wait(), or -errno */
pid_t driver_unbind(const struct driver *driver);

/** driver_is_open - whether a process has a device of @share open */
bool driver_is_open(const struct share *share);

/** driver_devices_before - note the device numbers; call before the load */
void driver_devices_before(void);

/** driver_devices_after - store the device numbers that are new since driver_devices_before() in @share */
void driver_devices_after(struct share *share);

#endif
