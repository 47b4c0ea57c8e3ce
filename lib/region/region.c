// SPDX-License-Identifier: MIT
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sys/cancel.h"
#include "lib/cuda/allocation.h"
#include "lib/cuda/query.h"
#include "lib/sys/debug.h"
#include "region.h"
#include "lib/sys/sys.h"
#include "lib/cuda/why.h"

#define REGION_BYTES (PEERPIN_MAX_REGIONS * sizeof(uint32_t))
#define ALL_BYTES (REGION_BYTES + PEERPIN_MAX_WATCHES * sizeof(uint32_t))

/* An older kernel module has no words of watches. */
static int map_epochs(struct pp_ctx *ctx)
{
	void *page;
	int ret;

	ctx->bytes = ALL_BYTES;
	ret = pp_sys_map(ctx->fd, ctx->bytes, &page);
	if (ret == -EINVAL) {
		ctx->bytes = REGION_BYTES;
		ret = pp_sys_map(ctx->fd, ctx->bytes, &page);
	}
	if (!ret)
		ctx->epochs = page;
	return ret;
}

static int ctx_open(struct pp_ctx *ctx)
{
	int ret;

	ctx->mark = pp_process_mark();
	if (!ctx->mark)
		return -ENOMEM;
	ctx->fd = pp_sys_open("/dev/peerpin");
	if (ctx->fd < 0)
		return ctx->fd;
	ret = map_epochs(ctx);
	if (ret)
		pp_sys_close(ctx->fd);
	return ret;
}

PP_PUBLIC int pp_open(struct pp_ctx **out)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_ctx *ctx;
	int ret;

	if (!out)
		return -EINVAL;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ret = ctx_open(ctx);
	if (ret) {
		pp_debug("/dev/peerpin cannot be used: %s", strerror(-ret));
		free(ctx);
	} else {
		*out = ctx;
	}
	return ret;
}

/* ---- pinned regions ---------------------------------------------------------- */

static uint64_t bit_of(uint32_t id)
{
	return 1ull << id % 64;
}

/* Relaxed: a program that passes an id from thread to thread synchronises the threads itself. */
static void remember(struct pp_ctx *ctx, uint32_t id)
{
	if (id < PEERPIN_MAX_REGIONS)
		atomic_fetch_or_explicit(&ctx->pinned[id / 64], bit_of(id),
					 memory_order_relaxed);
}

/* Returns true if the region was pinned through this context. */
static bool forget(struct pp_ctx *ctx, uint32_t id)
{
	if (id >= PEERPIN_MAX_REGIONS)
		return false;
	return atomic_fetch_and_explicit(&ctx->pinned[id / 64], ~bit_of(id),
					 memory_order_relaxed) & bit_of(id);
}

static int unpin(struct pp_ctx *ctx, uint32_t id)
{
	struct peerpin_unpin arg = { .size = sizeof(arg), .region = id };

	return pp_sys_ioctl(ctx->fd, PEERPIN_IOC_UNPIN, &arg);
}

static void unpin_word(struct pp_ctx *ctx, uint32_t word)
{
	uint64_t bits = atomic_exchange_explicit(&ctx->pinned[word], 0,
						 memory_order_relaxed);

	for (; bits; bits &= bits - 1)
		unpin(ctx, word * 64 + (uint32_t)__builtin_ctzll(bits));
}

static void unpin_all(struct pp_ctx *ctx)
{
	uint32_t word;

	for (word = 0; word < PEERPIN_MAX_REGIONS / 64; word++)
		unpin_word(ctx, word);
}

/*
 * The kernel unpins at the last close of the file, but a child of fork() may keep
 * the file open for long. In the child this only closes the child's copy of the
 * descriptor; the parent's regions stay.
 */
PP_PUBLIC void pp_close(struct pp_ctx *ctx)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;

	if (!ctx)
		return;
	/* a child has no such mapping: its own memory may lie at the address of the page */
	if (!pp_ctx_is_foreign(ctx)) {
		unpin_all(ctx);
		pp_unwatch_all(ctx);
		pp_sys_unmap((void *)ctx->epochs, ctx->bytes);
	}
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

static int pin_as_told(struct pp_ctx *ctx, struct peerpin_pin *pin,
		       struct pp_region *out, struct pp_why *why)
{
	int ret;

	if (pp_ctx_is_foreign(ctx))
		return pp_refuse(why, PEERPIN_REASON_NOT_OWNED, -EACCES);
	ret = pp_sys_ioctl(ctx->fd, PEERPIN_IOC_PIN, pin);
	if (!ret) {
		remember(ctx, pin->out_region);
		region_from(out, pin);
		return 0;
	}
	*why = (struct pp_why) {
		.reason = pin->out_reason,
		.needed = pin->out_needed,
		.available = pin->out_available,
	};
	return ret;
}

int pp_pin_as(struct pp_ctx *ctx, uint64_t addr, uint64_t length,
	      uint32_t provider, uint32_t flags, struct pp_region *out,
	      struct pp_why *why)
{
	struct peerpin_pin pin = {
		.size = sizeof(pin),
		.flags = flags,
		.addr = addr,
		.length = length,
		.provider = provider,
	};
	int ret = pin_as_told(ctx, &pin, out, why);

	/* check @ret first: a pin that succeeds leaves @why as it was before the call */
	if (!ret || why->reason != PEERPIN_REASON_NO_PROVIDER ||
	    provider != PEERPIN_PROVIDER_NV)
		return ret;
	/* the memory may belong to an integrated GPU; the provider for it gives a better reason */
	pin.provider = PEERPIN_PROVIDER_TEGRA;
	return pin_as_told(ctx, &pin, out, why);
}

/* For a persistent pin the kernel asks GPU providers only, so NOT_MAPPED means that the address is not GPU memory. */
static void refine(struct pp_why *why, const struct pp_mem *mem, const void *addr, size_t length, uint32_t flags)
{
	if (flags & PEERPIN_PIN_PERSISTENT && why->reason == PEERPIN_REASON_NOT_MAPPED)
		why->reason = PEERPIN_REASON_NOT_GPU;
	if (why->reason == PEERPIN_REASON_VENDOR_REFUSED)
		pp_allocation_explain(mem, (uintptr_t)addr, length, why);
	pp_why_room(why, addr);
}

static int pin_with(struct pp_ctx *ctx, const void *addr, size_t length,
		    uint32_t flags, struct pp_region *out, struct pp_why *why)
{
	struct pp_mem mem;
	unsigned int provider;
	int ret;

	if (pp_ctx_is_foreign(ctx))	/* before CUDA, which does not work in a child */
		return pp_refuse(why, PEERPIN_REASON_NOT_OWNED, -EACCES);
	provider = pp_query_provider(addr, &mem);
	if (mem.kind == PP_MEM_MANAGED)
		return pp_refuse(why, PEERPIN_REASON_MANAGED, -EINVAL);
	if (flags & PEERPIN_PIN_PERSISTENT && provider == PEERPIN_PROVIDER_HOST)
		return pp_refuse(why, PEERPIN_REASON_NOT_GPU, -EINVAL);
	ret = pp_pin_as(ctx, (uintptr_t)addr, length, provider, flags, out, why);
	if (ret)
		refine(why, &mem, addr, length, flags);
	return ret;
}

PP_PUBLIC int pp_pin_with(struct pp_ctx *ctx, const void *addr, size_t length,
			  uint32_t flags, struct pp_region *out,
			  struct pp_why *why)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_why ignored;
	int ret;

	if (!ctx || !out)
		return -EINVAL;
	why = why ? why : &ignored;
	ret = pin_with(ctx, addr, length, flags, out, why);
	pp_region_debug((uintptr_t)addr, length, ret, out, why);
	return ret;
}

PP_PUBLIC int pp_pin(struct pp_ctx *ctx, const void *addr, size_t length,
		     struct pp_region *out, struct pp_why *why)
{
	return pp_pin_with(ctx, addr, length, 0, out, why);
}

PP_PUBLIC int pp_pin_dmabuf(struct pp_ctx *ctx, int fd, uint64_t offset,
			    uint64_t length, struct pp_region *out,
			    struct pp_why *why)
{
	PP_KEEP_ERRNO;
	struct pp_why ignored;
	struct peerpin_pin pin = {
		.size = sizeof(pin),
		.addr = offset,
		.length = length,
		.provider = PEERPIN_PROVIDER_DMABUF,
		.fd = fd,
	};
	int ret;

	if (!ctx || !out)
		return -EINVAL;
	why = why ? why : &ignored;
	ret = pin_as_told(ctx, &pin, out, why);
	pp_region_debug(offset, length, ret, out, why);
	return ret;
}

PP_PUBLIC int pp_unpin(struct pp_ctx *ctx, const struct pp_region *region)
{
	PP_KEEP_ERRNO;
	bool ours;
	int ret;

	if (pp_ctx_is_foreign(ctx))
		return -EACCES;
	/* forget before the unpin: after the unpin another thread may get the same id */
	ours = forget(ctx, region->id);
	ret = unpin(ctx, region->id);
	if (ret && ours)
		remember(ctx, region->id);
	return ret;
}

/*
 * Acquire: pairs with the kernel's release store that ends an epoch. A caller that
 * gets 0 sees all that happened before the region was revoked.
 */
PP_PUBLIC int pp_region_valid(const struct pp_ctx *ctx,
			      const struct pp_region *region)
{
	return !pp_ctx_is_foreign(ctx) &&
	       atomic_load_explicit(&ctx->epochs[region->slot],
				    memory_order_acquire) == region->epoch;
}
