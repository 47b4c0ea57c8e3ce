// SPDX-License-Identifier: MIT
/* A registration cache of regions of /dev/peerpin. */
#include <peerpin.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include "query.h"
#include "regcache.h"
#include "region.h"
#include "sys.h"
#include "why.h"

/* What the CUDA driver gives out memory in; smaller allocations share one. */
#define BLOCK_SIZE (2u << 20)

/**
 * struct registration - what an entry's @reg points to
 * @region: first, as the interface promises
 * @addr: in the allocation; @region begins earlier, maybe in another one
 * @buffer_id: CUDA's id of the allocation
 * @shares_block: freeing the allocation may free no block (others are left in
 *	it, or it goes back to a pool) and so revoke nothing; its id has to be
 *	asked for on each hit
 */
struct registration {
	struct pp_region region;
	uint64_t addr;
	uint64_t buffer_id;
	bool shares_block;
};

static bool contains(const struct pp_mem *mem, uint64_t addr, uint64_t length)
{
	return addr >= mem->base && length <= mem->size &&
	       addr - mem->base <= mem->size - length;
}

static bool shares_block(const struct pp_mem *mem)
{
	return mem->kind == PP_MEM_GPU &&
	       (mem->pooled || mem->base % BLOCK_SIZE || mem->size % BLOCK_SIZE);
}

/*
 * The allocation may have changed since it was grown to. SYNC_MEMOPS is set
 * on each miss: it costs less than remembering which allocations have it.
 */
static int prepare(const struct pp_mem *mem, uint64_t addr, uint64_t length,
		   struct pp_why *why)
{
	if (mem->kind == PP_MEM_HOST)
		return 0;
	if (mem->kind == PP_MEM_MANAGED)
		return pp_refuse(why, PEERPIN_REASON_MANAGED, -EINVAL);
	if (!mem->rdma || !contains(mem, addr, length) ||
	    pp_sync_memops((const void *)(uintptr_t)addr))
		return pp_refuse(why, PEERPIN_REASON_VENDOR_REFUSED, -EINVAL);
	return 0;
}

/*
 * Is what was pinned what was asked about? Between the question and the pin
 * another thread may have freed the allocation, and the pin taken others that
 * came to lie there: they would be covered without SYNC_MEMOPS, and by an entry
 * that does not know that they share a block. Ids are never used twice, so
 * finding the old one after the pin means that the allocation lived through it
 * and its end revokes the region, or changes the id where it shares a block.
 *
 * GPU memory that CUDA did not own up to (it fails at the moment) has no id
 * that could be watched.
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

static int pin_verified(struct pp_ctx *ctx, uint64_t length,
			const struct pp_mem *mem, unsigned int provider,
			struct registration *reg, struct pp_why *why)
{
	int ret = pp_pin_as(ctx, reg->addr, length, provider, 0, &reg->region, why);

	if (ret)
		return ret;
	ret = verify(reg, mem, why);
	if (ret)
		pp_unpin(ctx, &reg->region);
	return ret;
}

static int register_range(struct pp_ctx *ctx, uint64_t addr, uint64_t length,
			  struct registration *reg, struct pp_why *why)
{
	struct pp_mem mem;
	unsigned int provider;
	int ret;

	provider = pp_query_provider((const void *)(uintptr_t)addr, &mem);
	ret = prepare(&mem, addr, length, why);
	if (ret)
		return ret;
	reg->addr = addr;
	reg->buffer_id = mem.buffer_id;
	reg->shares_block = shares_block(&mem);
	return pin_verified(ctx, length, &mem, provider, reg, why);
}

static int ctx_pin(void *arg, uint64_t addr, uint64_t length, void **out,
		   struct pp_why *why)
{
	struct registration *reg = malloc(sizeof(*reg));
	int ret;

	if (!reg)
		return -ENOMEM;
	ret = register_range(arg, addr, length, reg, why);
	if (ret)
		free(reg);
	else
		*out = reg;
	return ret;
}

static void ctx_unpin(void *arg, void *reg)
{
	struct registration *r = reg;

	pp_unpin(arg, &r->region);
	free(r);
}

static int ctx_valid(void *arg, void *reg)
{
	const struct registration *r = reg;

	if (!pp_region_valid(arg, &r->region))
		return 0;
	return !r->shares_block ||
	       pp_query_buffer_id(r->addr) == r->buffer_id;
}

/* Whole pages: memory around them may not be mapped. */
static int grow_host(uint64_t *addr, uint64_t *length)
{
	uint64_t mask = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	uint64_t end = (*addr + *length + mask) & ~mask;

	if (end < *addr)
		return 0;
	*addr &= ~mask;
	*length = end - *addr;
	return 0;
}

static int ctx_grow(void *arg, uint64_t *addr, uint64_t *length)
{
	struct pp_mem mem;

	(void)arg;
	pp_query_provider((const void *)(uintptr_t)*addr, &mem);
	if (mem.kind == PP_MEM_HOST)
		return grow_host(addr, length);
	if (contains(&mem, *addr, *length)) {
		*addr = mem.base;
		*length = mem.size;
	}
	return 1;
}

static const struct pp_cache_ops ctx_ops = {
	.pin = ctx_pin,
	.unpin = ctx_unpin,
	.valid = ctx_valid,
	.grow = ctx_grow,
};

PP_PUBLIC int pp_cache_create_ctx(struct pp_ctx *ctx,
				  const struct pp_cache_attr *attr,
				  struct pp_cache **out)
{
	int ret;

	/* what keeps a hit honest is the epoch, and a persistent pin's never ends */
	if (attr && attr->pin_flags)
		return -EOPNOTSUPP;
	ret = pp_cache_create(&ctx_ops, ctx, attr, out);
	if (!ret)
		pp_cache_set_ctx(*out, ctx);
	return ret;
}
