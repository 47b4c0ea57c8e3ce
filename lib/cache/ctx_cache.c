// SPDX-License-Identifier: MIT
/*
 * A registration cache of regions of /dev/peerpin. The @arg of its struct
 * pp_cache_ops is the cache.
 */
#include <peerpin.h>
#include <stdbool.h>
#include <stdlib.h>
#include "cache.h"
#include "flags.h"
#include "lib/cuda/allocation.h"
#include "lib/cuda/query.h"
#include "lib/sys/debug.h"
#include "regcache.h"
#include "lib/region/region.h"
#include "lib/sys/sys.h"
#include "watch.h"
#include "lib/cuda/why.h"

/**
 * struct registration - an entry's @reg points to this
 * @region: the first field, because the interface makes @reg a struct pp_region *
 * @addr: begin of the range in the allocation. @region may begin earlier, even in
 *	another allocation
 * @buffer_id: CUDA's id of the allocation
 * @shares_block: freeing the allocation may free no block, because the block has
 *	other allocations or goes back to a pool. Such a free revokes nothing, so
 *	each hit queries the id
 */
struct registration {
	struct pp_region region;
	uint64_t addr;
	uint64_t buffer_id;
	bool shares_block;
};

/*
 * Is the pinned allocation the queried one? Between the query and the pin another
 * thread may have freed that allocation, and the pin may cover new allocations at
 * its address. These would lack SYNC_MEMOPS, and @shares_block may be wrong for
 * them. CUDA never uses an id twice. So the same id after the pin proves that the
 * allocation existed throughout. A later free revokes the region or, if the
 * allocation shares a block, changes the id.
 *
 * If CUDA's calls fail at the moment, GPU memory has no id to compare. Then the
 * pin is refused.
 */
static int verify(const struct registration *reg, const struct pp_mem *mem,
		  struct pp_why *why)
{
	if (mem->kind != PP_MEM_GPU && reg->region.provider == PEERPIN_PROVIDER_NV)
		return pp_refuse(why, PEERPIN_REASON_NOT_GPU, -EINVAL);
	if (mem->kind == PP_MEM_GPU && pp_query_buffer_id(reg->addr) != mem->buffer_id)
		return pp_refuse(why, PEERPIN_REASON_REVOKED, -ESTALE);
	return 0;
}

static int pin_verified(const struct pp_cache *c, uint64_t length,
			const struct pp_mem *mem, unsigned int provider,
			struct registration *reg, struct pp_why *why)
{
	int ret = pp_pin_as(c->ctx, reg->addr, length, provider, c->attr.pin_flags, &reg->region, why);

	if (ret)
		return ret;
	ret = verify(reg, mem, why);
	if (ret)
		pp_unpin(c->ctx, &reg->region);
	return ret;
}

static int register_range(const struct pp_cache *c, uint64_t addr, uint64_t length,
			  struct registration *reg, struct pp_why *why)
{
	struct pp_mem mem;
	unsigned int provider;
	int ret;

	provider = pp_query_provider((const void *)(uintptr_t)addr, &mem);
	if (mem.kind == PP_MEM_GPU && !mem.rdma) {
		pp_allocation_explain(&mem, addr, length, why);
		return -EINVAL;
	}
	/* as pp_pin_with(). Without an answer of CUDA there is no buffer id, so no hit could be checked */
	if (mem.kind == PP_MEM_HOST && c->attr.pin_flags)
		return pp_refuse(why, PEERPIN_REASON_NOT_GPU, -EINVAL);
	ret = pp_allocation_prepare(&mem, addr, length, why);
	if (ret)
		return ret;
	reg->addr = addr;
	reg->buffer_id = mem.buffer_id;
	reg->shares_block = pp_allocation_shares_block(&mem);
	return pin_verified(c, length, &mem, provider, reg, why);
}

static int ctx_pin(void *arg, uint64_t addr, uint64_t length, void **out,
		   struct pp_why *why)
{
	struct registration *reg = malloc(sizeof(*reg));
	int ret;

	if (!reg)
		return -ENOMEM;
	ret = register_range(arg, addr, length, reg, why);
	pp_region_debug(addr, length, ret, &reg->region, why);
	if (ret)
		free(reg);
	else
		*out = reg;
	return ret;
}

static void ctx_unpin(void *arg, void *reg)
{
	struct registration *r = reg;

	pp_unpin(pp_cache_ctx(arg), &r->region);
	free(r);
}

static bool is_same_buffer(const struct registration *r)
{
	return pp_query_buffer_id(r->addr) == r->buffer_id;
}

static int epoch_valid(void *arg, void *reg)
{
	const struct registration *r = reg;

	return pp_region_valid(pp_cache_ctx(arg), &r->region) && (!r->shares_block || is_same_buffer(r));
}

/*
 * Checks the id, except for host memory, which has none. Checks the region too: a pin may
 * end before its memory, for example if a huge page is split or a GPU is unbound. The id
 * also proves that the memory of a persistent pin was not freed, which changes no epoch.
 */
static int tag_valid(void *arg, void *reg)
{
	const struct registration *r = reg;

	return pp_region_valid(pp_cache_ctx(arg), &r->region) && (!r->buffer_id || is_same_buffer(r));
}

static const uint32_t *epoch_of(const struct pp_ctx *ctx, const struct registration *r, uint32_t *value)
{
	*value = r->region.epoch;
	return (const uint32_t *)&ctx->epochs[r->region.slot];
}

/*
 * An allocation that shares a block has no word, because its free may change no epoch.
 * epoch_valid() compares its id instead.
 */
static const uint32_t *epoch_word(void *arg, void *reg, uint32_t *value)
{
	const struct registration *r = reg;

	return r->shares_block ? NULL : epoch_of(pp_cache_ctx(arg), r, value);
}

/* With the hook, each allocation has a word: the hook also sees the free of one that shares a block. */
static const uint32_t *hooked_word(void *arg, void *reg, uint32_t *value)
{
	return epoch_of(pp_cache_ctx(arg), reg, value);
}

static int ctx_grow(void *arg, uint64_t *addr, uint64_t *length)
{
	struct pp_mem mem;

	(void)arg;
	pp_query_provider((const void *)(uintptr_t)*addr, &mem);
	if (mem.kind == PP_MEM_HOST)
		return pp_pages_grow(addr, length);
	pp_allocation_grow(&mem, addr, length);
	return 1;
}

static const struct pp_cache_ops ctx_ops[] = {
	[PP_WATCH_BEST] = { ctx_pin, ctx_unpin, hooked_word, epoch_valid, ctx_grow },
	[PP_WATCH_EPOCH] = { ctx_pin, ctx_unpin, epoch_word, epoch_valid, ctx_grow },
	[PP_WATCH_HOOK] = { ctx_pin, ctx_unpin, hooked_word, epoch_valid, ctx_grow },
	[PP_WATCH_TAG] = { ctx_pin, ctx_unpin, NULL, tag_valid, ctx_grow },
	[PP_WATCH_NONE] = { ctx_pin, ctx_unpin, NULL, NULL, ctx_grow },
};

static void say(uint32_t watch)
{
	static const char *const how[] = {
		[PP_WATCH_EPOCH] = "the revocation page, and CUDA's buffer ids for small allocations",
		[PP_WATCH_HOOK] = "libpeerpin-hook",
		[PP_WATCH_TAG] = "CUDA's buffer ids",
		[PP_WATCH_NONE] = "calls of pp_cache_invalidate()",
	};

	pp_debug("a cache of regions detects frees by %s", how[watch]);
}

static uint32_t flags_of(const struct pp_cache_attr *attr)
{
	return attr ? attr->pin_flags : 0;
}

/* A free of memory with a persistent pin changes no word of the revocation page. */
static bool can_judge(uint32_t watch, uint32_t flags)
{
	return pp_flags_are_known(flags) && !(flags && watch == PP_WATCH_EPOCH);
}

/* A hook that was loaded too late does not see all frees: then PP_WATCH_BEST means the best of the other two. */
static int make(uint32_t watch, const struct pp_cache_attr *attr, struct pp_cache **out)
{
	int ret = -EOPNOTSUPP;

	if (watch == PP_WATCH_BEST || watch == PP_WATCH_HOOK)
		ret = pp_watch_make(&ctx_ops[watch], attr, out);
	if (!ret)
		say(PP_WATCH_HOOK);
	if (ret != -EOPNOTSUPP || watch == PP_WATCH_HOOK)
		return ret;
	if (watch == PP_WATCH_BEST)
		watch = flags_of(attr) ? PP_WATCH_TAG : PP_WATCH_EPOCH;
	say(watch);
	return pp_cache_make(&ctx_ops[watch], NULL, attr, out);
}

PP_PUBLIC int pp_cache_create_ctx(struct pp_ctx *ctx,
				  const struct pp_cache_attr *attr,
				  struct pp_cache **out)
{
	PP_KEEP_ERRNO;
	uint32_t watch = attr ? attr->watch : PP_WATCH_BEST;
	int ret;

	if (!ctx || !out)
		return -EINVAL;
	if (pp_ctx_is_foreign(ctx))
		return -EACCES;
	if (watch > PP_WATCH_NONE)
		return -EINVAL;
	if (!can_judge(watch, flags_of(attr)))
		return -EOPNOTSUPP;
	ret = make(watch, attr, out);
	if (!ret)
		pp_cache_set_ctx(*out, ctx);
	return ret;
}
