// SPDX-License-Identifier: MIT
#include "lib/region/region.h"
#include "lib/sys/sys.h"

static int map(struct pp_ctx *ctx, const struct pp_region *region,
	       uint64_t offset, size_t length, int prot, void **out)
{
	int ret = pp_sys_map_at(ctx->fd, PEERPIN_MMAP_OFFSET(region->id) + offset,
				length, prot, out);

	return ret == -ENOENT ? -ESTALE : ret;
}

/*
 * The kernel maps by id, and the id may belong to another region by now. But the word of
 * a region never gets an old epoch again. So if the region is still valid after the
 * mapping, the id was its own.
 */
PP_PUBLIC int pp_region_map(struct pp_ctx *ctx, const struct pp_region *region,
			    uint64_t offset, size_t length, int prot, void **out)
{
	PP_KEEP_ERRNO;
	void *view;
	int ret;

	if (!ctx || !region || !out)
		return -EINVAL;
	if (pp_ctx_is_foreign(ctx))
		return -EACCES;
	if (offset > region->length || length > region->length - offset)
		return -EINVAL;
	ret = map(ctx, region, offset, length, prot, &view);
	if (ret)
		return ret;
	if (!pp_region_valid(ctx, region)) {
		pp_sys_unmap(view, length);
		return -ESTALE;
	}
	*out = view;
	return 0;
}

/* A child of fork() has no mappings of regions: its own memory may lie at the address. */
PP_PUBLIC int pp_region_unmap(struct pp_ctx *ctx, void *view, size_t length)
{
	PP_KEEP_ERRNO;

	if (pp_ctx_is_foreign(ctx))
		return -EACCES;
	return pp_sys_unmap(view, length);
}
