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

/** driver_init - @file: "FILE.ko" or "FILE.ko K=V ..."; keeps and changes the string; returns modinfo_name() */
int driver_init(struct driver *driver, char *file);

/** driver_is_loaded - if true before driver_load(), its init function was not watched */
bool driver_is_loaded(const struct driver *driver);

/** driver_load - 0, -errno of finit_module(), -ETIMEDOUT, or -EFAULT: the kernel killed the caller */
int driver_load(const struct driver *driver);

/** driver_unload - returns like driver_load(); -EWOULDBLOCK at once if the module is in use */
int driver_unload(const struct driver *driver);

/** driver_unload_patiently - retry while in use: a kernel worker may drop the last reference late */
int driver_unload_patiently(const struct driver *driver);

/** driver_unbind - start to unbind all its devices; returns the child to wait for, or -errno */
pid_t driver_unbind(const struct driver *driver);

/** driver_devices_before, _after - call around the load; stores the new device numbers in @share */
void driver_devices_before(void);
void driver_devices_after(struct share *share);

#endif
