// SPDX-License-Identifier: MIT
#include <peerpin.h>
#include <stdlib.h>
#include "process.h"
#include "query.h"
#include "region.h"
#include "sys.h"

#define EPOCH_BYTES (PEERPIN_MAX_REGIONS * sizeof(uint32_t))

static int foreign(const struct pp_ctx *ctx)
{
	return ctx->mark != pp_process_mark();
}

static int ctx_open(struct pp_ctx *ctx)
{
	void *page;
	int ret;

	ctx->mark = pp_process_mark();
	if (!ctx->mark)
		return -ENOMEM;
	ctx->fd = pp_sys_open("/dev/peerpin");
	if (ctx->fd < 0)
		return ctx->fd;
	ret = pp_sys_map(ctx->fd, EPOCH_BYTES, &page);
	if (ret)
		pp_sys_close(ctx->fd);
	else
		ctx->epochs = page;
	return ret;
}

PP_PUBLIC int pp_open(struct pp_ctx **out)
{
	PP_KEEP_ERRNO;
	struct pp_ctx *ctx = malloc(sizeof(*ctx));
	int ret;

	if (!ctx)
		return -ENOMEM;
	ret = ctx_open(ctx);
	if (ret)
		free(ctx);
	else
		*out = ctx;
	return ret;
}

/*
 * The last close of the file unpins. In a child of fork() this closes the
 * child's copy of the descriptor only, and the parent's regions stay.
 */
PP_PUBLIC void pp_close(struct pp_ctx *ctx)
{
	PP_KEEP_ERRNO;

	if (!ctx)
		return;
	pp_sys_unmap((void *)ctx->epochs, EPOCH_BYTES);
	pp_sys_close(ctx->fd);
	free(ctx);
}

PP_PUBLIC int pp_fd(const struct pp_ctx *ctx)
{
	return ctx->fd;
}

static void region_from(struct pp_region *out, const struct peerpin_pin *pin)
{
	*out = (struct pp_region) {
		.addr = pin->out_addr,
		.length = pin->out_length,
		.page_size = pin->out_page_size,
		.id = pin->out_region,
		.slot = pin->out_slot,
		.epoch = pin->out_epoch,
		.provider = pin->out_provider,
	};
}

int pp_pin_as(struct pp_ctx *ctx, uint64_t addr, uint64_t length,
	      uint32_t provider, struct pp_region *out, struct pp_why *why)
{
	struct peerpin_pin pin = {
		.size = sizeof(pin),
		.addr = addr,
		.length = length,
		.provider = provider,
	};
	int ret;

	*why = (struct pp_why){ .reason = PEERPIN_REASON_NONE };
	if (foreign(ctx))
		return -EACCES;
	ret = pp_sys_ioctl(ctx->fd, PEERPIN_IOC_PIN, &pin);
	if (!ret) {
		region_from(out, &pin);
		return 0;
	}
	why->reason = pin.out_reason;
	why->needed = pin.out_needed;
	return ret;
}

PP_PUBLIC int pp_pin(struct pp_ctx *ctx, const void *addr, size_t length,
		     struct pp_region *out, struct pp_why *why)
{
	PP_KEEP_ERRNO;
	struct pp_why ignored;
	struct pp_mem mem;
	unsigned int provider = pp_query_provider(addr, &mem);

	if (!why)
		why = &ignored;
	*why = (struct pp_why){ .reason = PEERPIN_REASON_NONE };
	if (mem.kind == PP_MEM_MANAGED)
		return -EINVAL;
	return pp_pin_as(ctx, (uintptr_t)addr, length, provider, out, why);
}

PP_PUBLIC int pp_unpin(struct pp_ctx *ctx, const struct pp_region *region)
{
	PP_KEEP_ERRNO;
	struct peerpin_unpin unpin = {
		.size = sizeof(unpin),
		.region = region->id,
	};

	if (foreign(ctx))
		return -EACCES;
	return pp_sys_ioctl(ctx->fd, PEERPIN_IOC_UNPIN, &unpin);
}

/*
 * Acquire: pairs with the release store by which the kernel ends an epoch.
 * What the memory's owner did after that is seen by whoever sees 0 here.
 */
PP_PUBLIC int pp_region_valid(const struct pp_ctx *ctx,
			      const struct pp_region *region)
{
	return atomic_load_explicit(&ctx->epochs[region->slot],
				    memory_order_acquire) == region->epoch;
}
