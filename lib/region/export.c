// SPDX-License-Identifier: MIT
#include "lib/sys/cancel.h"
#include "region.h"
#include "lib/sys/sys.h"

/* Returns the descriptor, or -errno. */
static int export(struct pp_ctx *ctx, struct peerpin_export *arg)
{
	int ret = pp_sys_ioctl(ctx->fd, PEERPIN_IOC_EXPORT, arg);

	if (ret)
		return ret == -ENOENT ? -ESTALE : ret;
	return pp_sys_above_stderr(arg->out_fd);
}

/* The kernel exports by id. If the region is still valid afterwards, the id was its own: see map.c. */
PP_PUBLIC int pp_region_export(struct pp_ctx *ctx, const struct pp_region *region,
			       uint64_t offset, uint64_t length, int *out)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct peerpin_export arg = {
		.size = sizeof(arg),
		.offset = offset,
		.length = length,
	};
	int fd;

	if (!ctx || !region || !out)
		return -EINVAL;
	if (pp_ctx_is_foreign(ctx))
		return -EACCES;
	arg.region = region->id;
	if (offset > region->length || length > region->length - offset)
		return -EINVAL;
	fd = export(ctx, &arg);
	if (fd < 0)
		return fd;
	if (!pp_region_valid(ctx, region)) {
		pp_sys_close(fd);
		return -ESTALE;
	}
	*out = fd;
	return 0;
}
