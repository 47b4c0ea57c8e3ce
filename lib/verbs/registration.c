// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include <unistd.h>
#include "registration.h"
#include "lib/cuda/why.h"

/**
 * struct attempt - one attempt to register
 * @said: filled in if the attempt fails
 */
struct attempt {
	const struct pp_registrar *r;
	struct pp_registration *reg;
	struct pp_mr_attempt *said;
};

static int failed(struct attempt *a, const char *call, int error)
{
	a->said->call = call;
	a->said->error = error;
	return error;
}

/* Records a call of libibverbs that returned NULL; some calls leave errno 0. */
static int verbs_failed(struct attempt *a, const char *call)
{
	return failed(a, call, errno ? -errno : -EIO);
}

bool pp_is_shortage(int error)
{
	return error == -ENOMEM || error == -ENOSPC || error == -EDQUOT;
}

static void *at(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static uint64_t page_mask(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE) - 1;
}

/* ---- the ways -------------------------------------------------------------------- */

static int from_pointer(struct attempt *a)
{
	struct pp_mr *mr = &a->reg->mr;

	errno = 0;
	mr->mr = ibv_reg_mr(a->r->pd, at(mr->addr), mr->length, a->r->access);
	return mr->mr ? 0 : verbs_failed(a, "ibv_reg_mr");
}

/* Work requests use the program's own addresses, as without a dma-buf. @start: address of the dma-buf's first byte */
static int from_dmabuf(struct attempt *a, int fd, uint64_t start)
{
	struct pp_mr *mr = &a->reg->mr;

	errno = 0;
	mr->mr = ibv_reg_dmabuf_mr(a->r->pd, mr->addr - start, mr->length, mr->addr, fd, a->r->access);
	return mr->mr ? 0 : verbs_failed(a, "ibv_reg_dmabuf_mr");
}

/* The memory region holds a reference to the dma-buf, so the descriptor can be closed. */
static int by_vendor(struct attempt *a)
{
	struct pp_mr *mr = &a->reg->mr;
	struct pp_dmabuf d;
	int ret = pp_dmabuf_export(at(mr->addr), mr->length, &d, &a->said->why);

	if (ret)
		return failed(a, "cuMemGetHandleForAddressRange", ret);
	ret = from_dmabuf(a, d.fd, d.addr);
	close(d.fd);
	return ret;
}

static int by_region(struct attempt *a)
{
	const struct pp_region *region = &a->reg->region;
	uint64_t mask = page_mask(), start = a->reg->mr.addr & ~mask;
	uint64_t end = (a->reg->mr.addr + a->reg->mr.length + mask) & ~mask;
	int fd, ret = pp_region_export(a->r->ctx, region, start - region->addr, end - start, &fd);

	if (ret)
		return failed(a, "pp_region_export", ret);
	ret = from_dmabuf(a, fd, start);
	close(fd);
	return ret;
}

static int pin(struct attempt *a)
{
	const struct pp_mr *mr = &a->reg->mr;
	int ret;

	if (!a->r->ctx)
		return failed(a, "pp_open", a->r->ctx_error);
	ret = pp_pin_with(a->r->ctx, at(mr->addr), mr->length, a->r->pin_flags, &a->reg->region, &a->said->why);
	if (ret)
		return failed(a, "pp_pin", ret);
	a->reg->pinned = true;
	return 0;
}

static void unpin(struct attempt *a)
{
	if (a->reg->pinned)
		pp_unpin(a->r->ctx, &a->reg->region);
	a->reg->pinned = false;
}

static int by_peerpin(struct attempt *a)
{
	int ret = pin(a);

	if (ret)
		return ret;
	ret = by_region(a);
	if (ret)
		unpin(a);
	return ret;
}

/* ---- host memory: watched first, then registered ------------------------------------------------ */

static int watch(struct attempt *a)
{
	const struct pp_mr *mr = &a->reg->mr;
	int ret;

	if (!a->r->ctx)
		return failed(a, "pp_open", a->r->ctx_error);
	do
		ret = pp_watch(a->r->ctx, at(mr->addr), mr->length, &a->reg->watch, &a->said->why);
	while (ret == -EINTR);
	a->reg->watched = !ret;
	return ret ? failed(a, "pp_watch", ret) : 0;
}

static void unwatch(struct attempt *a)
{
	if (a->reg->watched)
		pp_unwatch(a->r->ctx, &a->reg->watch);
	a->reg->watched = false;
}

/*
 * GPU memory that CUDA does not report, because its calls fail at the moment: the CPU has no pages there, but the
 * adapter registered it. Without CUDA's id the library cannot detect that the memory was freed and allocated anew.
 */
static int refuse_gpu_memory(struct attempt *a)
{
	ibv_dereg_mr(a->reg->mr.mr);
	return failed(a, "pp_watch", pp_refuse(&a->said->why, PEERPIN_REASON_NOT_GPU, -EINVAL));
}

/*
 * If there is no room for a watch, returns the error, so that the cache evicts idle entries. After any other
 * failure registers the memory unwatched.
 */
static int of_watched_host(struct attempt *a)
{
	int watch_error = watch(a), ret;

	if (pp_is_shortage(watch_error))
		return watch_error;
	a->said->why = (struct pp_why){ 0 };
	ret = from_pointer(a);
	if (ret)
		unwatch(a);
	else if (watch_error == -EINVAL)
		ret = refuse_gpu_memory(a);
	return ret;
}

static int try(const struct pp_registrar *r, struct pp_registration *reg, struct pp_mr_why *why, enum pp_mr_way way,
	       int (*how)(struct attempt *a))
{
	struct attempt a = { .r = r, .reg = reg, .said = &why->attempt[why->count] };
	int ret;

	*a.said = (struct pp_mr_attempt){ .way = way };
	ret = how(&a);
	if (ret)
		why->count++;
	else
		reg->mr.way = way;
	return ret;
}

/* If all ways fail: returns the error of a way that lacked room, so that the cache makes room; else the first error. */
static int try_all(const struct pp_registrar *r, struct pp_registration *reg, struct pp_mr_why *why)
{
	static int (*const ways[PP_MR_WAYS])(struct attempt *a) = {
		[PP_MR_VENDOR_DMABUF] = by_vendor,
		[PP_MR_PEERPIN_DMABUF] = by_peerpin,
		[PP_MR_PEER_MEMORY] = from_pointer,
	};
	enum pp_mr_way way;
	int ret, error = 0;

	for (way = PP_MR_VENDOR_DMABUF; way < PP_MR_WAYS; way++) {
		ret = try(r, reg, why, way, ways[way]);
		if (!ret)
			return 0;
		if (!error || pp_is_shortage(ret))
			error = ret;
	}
	return error;
}

/* ---- the memory -------------------------------------------------------------------- */

static bool is_same_buffer(const struct pp_registration *reg)
{
	struct pp_mem mem;

	pp_query(at(reg->mr.addr), &mem);
	return mem.buffer_id == reg->buffer_id;
}

/* True if the region is valid and the allocation was not freed, as far as the registration has them. */
static bool is_same(const struct pp_registrar *r, const struct pp_registration *reg)
{
	if (reg->pinned && !pp_region_valid(r->ctx, &reg->region))
		return false;
	if (reg->watched && !pp_watch_valid(r->ctx, &reg->watch))
		return false;
	return !reg->buffer_id || is_same_buffer(reg);
}

bool pp_registration_holds(const struct pp_registrar *r, const struct pp_registration *reg)
{
	return (reg->pinned || reg->watched || reg->buffer_id) && is_same(r, reg);
}

bool pp_is_within(const struct pp_mem *mem, uint64_t addr, uint64_t length)
{
	return addr >= mem->base && length <= mem->size && addr - mem->base <= mem->size - length;
}

static int prepare(const struct pp_mem *mem, const struct pp_mr *mr, struct pp_why *why)
{
	int sync;

	if (mem->kind == PP_MEM_MANAGED)
		return pp_refuse(why, PEERPIN_REASON_MANAGED, -EINVAL);
	if (!pp_is_within(mem, mr->addr, mr->length) || !mem->rdma)
		return pp_refuse(why, PEERPIN_REASON_VENDOR_REFUSED, -EINVAL);
	sync = pp_sync_memops(at(mr->addr));
	return sync == -EINVAL ? pp_refuse(why, PEERPIN_REASON_VENDOR_REFUSED, sync) : 0;
}

static int register_gpu(const struct pp_registrar *r, const struct pp_mem *mem, struct pp_registration *reg,
			struct pp_mr_why *why)
{
	int ret = prepare(mem, &reg->mr, &why->why);

	reg->buffer_id = mem->buffer_id;
	return ret ? ret : try_all(r, reg, why);
}

static int register_any(const struct pp_registrar *r, bool watched, struct pp_registration *reg, struct pp_mr_why *why)
{
	struct pp_mem mem;

	pp_query(at(reg->mr.addr), &mem);
	if (mem.kind != PP_MEM_HOST)
		return register_gpu(r, &mem, reg, why);
	return try(r, reg, why, PP_MR_HOST, watched ? of_watched_host : from_pointer);
}

static int make(const struct pp_registrar *r, uint64_t addr, uint64_t length, bool watched, struct pp_registration *out,
		struct pp_mr_why *why)
{
	int ret;

	*why = (struct pp_mr_why){ 0 };
	*out = (struct pp_registration){ .mr = { .addr = addr, .length = length } };
	ret = register_any(r, watched, out, why);
	if (ret || is_same(r, out))
		return ret;
	pp_registration_end(r, out);
	return pp_refuse(&why->why, PEERPIN_REASON_REVOKED, -ESTALE);
}

/*
 * The registration itself may replace watched pages, for example the zero page, by pages that it can write to. The
 * second registration finds these pages.
 */
int pp_registration_make(const struct pp_registrar *r, uint64_t addr, uint64_t length, bool watched,
			 struct pp_registration *out, struct pp_mr_why *why)
{
	int ret = make(r, addr, length, watched, out, why);

	return ret == -ESTALE ? make(r, addr, length, watched, out, why) : ret;
}

void pp_registration_end(const struct pp_registrar *r, struct pp_registration *reg)
{
	ibv_dereg_mr(reg->mr.mr);
	if (reg->pinned)
		pp_unpin(r->ctx, &reg->region);
	if (reg->watched)
		pp_unwatch(r->ctx, &reg->watch);
}
