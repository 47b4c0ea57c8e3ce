// SPDX-License-Identifier: MIT
#include "lib/cuda/query.h"
#include "lib/cuda/why.h"
#include "lib/sys/sys.h"
#include "region.h"

/* The kernel would watch the CPU's pages of managed memory, and CUDA moves the memory without a change of these pages. */
static int check_kind(const void *addr, struct pp_why *why)
{
	struct pp_mem mem;

	pp_query(addr, &mem);
	if (mem.kind == PP_MEM_MANAGED)
		return pp_refuse(why, PEERPIN_REASON_MANAGED, -EINVAL);
	return mem.kind == PP_MEM_GPU ? -EOPNOTSUPP : 0;
}

static int watch(struct pp_ctx *ctx, struct peerpin_watch *arg, struct pp_why *why)
{
	int ret;

	atomic_store_explicit(&ctx->watches, true, memory_order_relaxed);
	ret = pp_sys_ioctl(ctx->fd, PEERPIN_IOC_WATCH, arg);
	if (ret)
		*why = (struct pp_why){
			.reason = arg->out_reason, .needed = arg->out_needed, .available = arg->out_available,
		};
	return ret == -ENOTTY ? -EOPNOTSUPP : ret;
}

static int watch_host(struct pp_ctx *ctx, const void *addr, size_t length, struct pp_watched *out, struct pp_why *why)
{
	struct peerpin_watch arg = { .size = sizeof(arg), .addr = (uintptr_t)addr, .length = length };
	int ret;

	if (pp_ctx_is_foreign(ctx))	/* before CUDA, which does not work in a child */
		return pp_refuse(why, PEERPIN_REASON_NOT_OWNED, -EACCES);
	ret = check_kind(addr, why);
	if (!ret)
		ret = watch(ctx, &arg, why);
	if (ret)
		return ret;
	*out = (struct pp_watched){
		.addr = arg.addr, .length = length, .id = arg.out_watch, .slot = arg.out_slot, .epoch = arg.out_epoch,
	};
	return 0;
}

PP_PUBLIC int pp_watch(struct pp_ctx *ctx, const void *addr, size_t length, struct pp_watched *out, struct pp_why *why)
{
	PP_KEEP_ERRNO;
	struct pp_why ignored;

	if (!ctx || !out)
		return -EINVAL;
	why = why ? why : &ignored;
	*why = (struct pp_why){ 0 };
	return watch_host(ctx, addr, length, out, why);
}

static int unwatch(struct pp_ctx *ctx, uint32_t id)
{
	struct peerpin_unwatch arg = { .size = sizeof(arg), .watch = id };

	return pp_sys_ioctl(ctx->fd, PEERPIN_IOC_UNWATCH, &arg);
}

PP_PUBLIC int pp_unwatch(struct pp_ctx *ctx, const struct pp_watched *watched)
{
	PP_KEEP_ERRNO;

	return pp_ctx_is_foreign(ctx) ? -EACCES : unwatch(ctx, watched->id);
}

void pp_unwatch_all(struct pp_ctx *ctx)
{
	if (atomic_load_explicit(&ctx->watches, memory_order_relaxed))
		unwatch(ctx, PEERPIN_WATCH_ALL);
}

/* Acquire: pairs with the kernel's release store, as in pp_region_valid(). */
PP_PUBLIC int pp_watch_valid(const struct pp_ctx *ctx, const struct pp_watched *watched)
{
	return !pp_ctx_is_foreign(ctx) &&
	       atomic_load_explicit(&ctx->epochs[watched->slot], memory_order_acquire) == watched->epoch;
}
