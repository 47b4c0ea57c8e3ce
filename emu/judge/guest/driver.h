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
	char name[64];	/* as the kernel knows it */
};

/** driver_init - @file: "FILE.ko" or "FILE.ko K=V ...", which is cut in two and must stay; 0, or as modinfo_name() */
int driver_init(struct driver *driver, char *file);

/** driver_is_loaded - then nobody has watched its init function */
bool driver_is_loaded(const struct driver *driver);

/** driver_load - 0, -errno as the kernel said it, -ETIMEDOUT, or -EFAULT: it died on the way */
int driver_load(const struct driver *driver);

/** driver_unload - as driver_load(); -EWOULDBLOCK at once when it is in use */
int driver_unload(const struct driver *driver);

/** driver_unload_patiently - the last reference may be dropped by a worker, so it gets a moment */
int driver_unload_patiently(const struct driver *driver);

/** driver_unbind - begin to take all its devices from it; the child to wait for, or -errno */
pid_t driver_unbind(const struct driver *driver);

/** driver_devices_before, _after - what device numbers its loading brought, into @share */
void driver_devices_before(void);
void driver_devices_after(struct share *share);

#endif
