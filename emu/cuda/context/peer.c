// SPDX-License-Identifier: MIT
#include "peer.h"

#include "device.h"
#include "init.h"

#include <stdlib.h>

/**
 * struct peer - access to the memory of another context; under the library lock
 * @link: entry in the @peers of the context that has this access
 * @ctx: context of the memory
 * @id: id of @ctx when access was enabled; a restarted primary context has another id
 */
struct peer {
	LIST_ENTRY(peer) link;
	const struct CUctx_st *ctx;
	unsigned long long id;
};

static void drop(struct peer *p)
{
	LIST_REMOVE(p, link);
	free(p);
}

void peer_drop_all(struct CUctx_st *ctx)
{
	while (!LIST_EMPTY(&ctx->peers))
		drop(LIST_FIRST(&ctx->peers));
}

static struct peer *find(const struct CUctx_st *ctx, const struct CUctx_st *other)
{
	struct peer *p;

	LIST_FOREACH(p, &ctx->peers, link)
		if (p->ctx == other && p->id == other->id)
			return p;
	return NULL;
}

/* Memory of a pool has no context: only its own GPU sees the memory. VMM mappings have access rights of their own. */
bool peer_sees(const struct CUctx_st *ctx, const struct alloc_info *info)
{
	bool sees;

	if (info->device == ctx->device || alloc_on_cpu(info) || info->kind == ALLOC_VMM)
		return true;
	lib_lock();
	sees = info->ctx && find(ctx, info->ctx);
	lib_unlock();
	return sees;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_get(dev) || !device_get(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = dev != peer;
	return CUDA_SUCCESS;
}

/* Looks up the current context and @handle. */
static CUresult enter_both(CUcontext handle, struct CUctx_st **ctx, struct CUctx_st **other)
{
	CUresult err = ctx_enter(ctx);

	if (err)
		return err;
	return handle ? ctx_resolve(handle, other) : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult add(struct CUctx_st *ctx, const struct CUctx_st *other)
{
	struct peer *p = malloc(sizeof(*p));

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*p = (struct peer){ .ctx = other, .id = other->id };
	LIST_INSERT_HEAD(&ctx->peers, p, link);
	return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags)
{
	struct CUctx_st *ctx, *other;
	CUresult err = enter_both(handle, &ctx, &other);

	if (err)
		return err;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (ctx->device == other->device)
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	lib_lock();
	err = find(ctx, other) ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : add(ctx, other);
	lib_unlock();
	return err;
}

CUresult cuCtxDisablePeerAccess(CUcontext handle)
{
	struct CUctx_st *ctx, *other;
	struct peer *p;
	CUresult err = enter_both(handle, &ctx, &other);

	if (err)
		return err;
	lib_lock();
	p = find(ctx, other);
	if (p)
		drop(p);
	lib_unlock();
	return p ? CUDA_SUCCESS : ctx_why(ctx, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}
