// SPDX-License-Identifier: MIT
#include "cancel.h"
#include "region.h"
#include "sys.h"

static int export(struct pp_ctx *ctx, struct peerpin_export *arg)
{
	int ret = pp_sys_ioctl(ctx->fd, PEERPIN_IOC_EXPORT, arg);

	return ret == -ENOENT ? -ESTALE : ret;
}

/* Valid afterwards means that it was this region that was exported: see map.c. */
PP_PUBLIC int pp_region_export(struct pp_ctx *ctx, const struct pp_region *region,
			       uint64_t offset, uint64_t length, int *out)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct peerpin_export arg = {
		.size = sizeof(arg),
		.region = region->id,
		.offset = offset,
		.length = length,
	};
	int ret;

	if (pp_ctx_is_foreign(ctx))
		return -EACCES;
	if (offset > region->length || length > region->length - offset)
		return -EINVAL;
	ret = export(ctx, &arg);
	if (ret)
		return ret;
	if (!pp_region_valid(ctx, region)) {
		pp_sys_close(arg.out_fd);
		return -ESTALE;
	}
	*out = arg.out_fd;
	return 0;
}
