/* SPDX-License-Identifier: MIT */
/* Has the loaded kernel module watches? */
#ifndef PP_PROBE_H
#define PP_PROBE_H

#include <errno.h>
#include "libpeerpin.h"

/* Returns 0, or -EOPNOTSUPP for a module without watches, or another error of pp_watch(). */
static inline int pp_watch_probe(struct pp_ctx *ctx)
{
	static char probe;
	struct pp_watched watched;
	int ret;

	do
		ret = pp_watch(ctx, &probe, sizeof(probe), &watched, NULL);
	while (ret == -EINTR);
	return ret ? ret : pp_unwatch(ctx, &watched);
}

#endif
