/* SPDX-License-Identifier: MIT */
/* Has the loaded kernel module watches? */
#ifndef PP_PROBE_H
#define PP_PROBE_H

#include "libpeerpin.h"
#include "peerpin.h"
#include "sys.h"

/*
 * Returns 0, -EOPNOTSUPP for a module without watches, or another error of PEERPIN_IOC_WATCH. pp_watch() would ask
 * CUDA, and so might call the dynamic loader: the callers hold a lock.
 */
static inline int pp_watch_probe(struct pp_ctx *ctx)
{
	static char probe;
	struct peerpin_watch watch = { .size = sizeof(watch), .addr = (uintptr_t)&probe, .length = sizeof(probe) };
	struct peerpin_unwatch unwatch = { .size = sizeof(unwatch) };
	int ret;

	do
		ret = pp_sys_ioctl(pp_fd(ctx), PEERPIN_IOC_WATCH, &watch);
	while (ret == -EINTR);
	if (ret)
		return ret == -ENOTTY ? -EOPNOTSUPP : ret;
	unwatch.watch = watch.out_watch;
	return pp_sys_ioctl(pp_fd(ctx), PEERPIN_IOC_UNWATCH, &unwatch);
}

#endif
