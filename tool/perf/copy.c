// SPDX-License-Identifier: MIT
/* Copies: by CUDA, by the CPU, and by a peer device. */
#include <errno.h>
#include <string.h>
#include "memory.h"
#include "tool/copy/gpu.h"

enum {
	FROM_GPU = 1,
	TO_GPU = 2,
};

static struct {
	struct pp_cache *cache;
	struct pp_peer *peer;
	struct perf_memory from, to;
} copied;

static int begin(uint64_t bytes, long arg, struct perf_why *why)
{
	if (memory_get(&copied.from, arg & FROM_GPU ? PERF_GPU : PERF_HOST, bytes, why))
		return -1;
	return memory_get(&copied.to, arg & TO_GPU ? PERF_GPU : PERF_HOST, bytes, why);
}

static void end(long arg)
{
	(void)arg;
	if (copied.cache)
		pp_cache_flush(copied.cache);
	memory_put(&copied.from);
	memory_put(&copied.to);
}

/* ---- CUDA and the CPU ------------------------------------------------------------------ */

static int copy_cuda(uint64_t bytes, long arg, struct perf_why *why)
{
	int ret = 0;

	switch (arg) {
	case 0:
		memcpy(memory_at(&copied.to), memory_at(&copied.from), bytes);
		__asm__ volatile("" : : : "memory");	/* the copy is not left out */
		break;
	case TO_GPU:
		ret = gpu_write(copied.to.at, memory_at(&copied.from), bytes);
		break;
	case FROM_GPU:
		ret = gpu_read(memory_at(&copied.to), copied.from.at, bytes);
		break;
	default:
		ret = gpu_copy(copied.to.at, copied.from.at, bytes);
	}
	return ret ? perf_refuse_cuda(why, "cuMemcpy", ret) : 0;
}

/* ---- a peer ------------------------------------------------------------------------------- */

static int open_peer(const struct perf_args *args, long arg, struct perf_why *why)
{
	struct pp_ctx *ctx;
	int ret;

	(void)arg;
	if (perf_need_ctx(&ctx, why))
		return -1;
	ret = pp_cache_create_ctx(ctx, NULL, &copied.cache);
	if (ret)
		return perf_refuse_call(why, "pp_cache_create_ctx", ret);
	ret = pp_peer_open(args->peer, copied.cache, &copied.peer);
	if (ret == -ENOENT || ret == -ENXIO || ret == -ENODEV)
		return perf_refuse(why, "there is no peer device %s; give its name: --peer NAME", args->peer);
	return ret ? perf_refuse_call(why, args->peer, ret) : 0;
}

static void close_peer(long arg)
{
	(void)arg;
	pp_peer_close(copied.peer);
	pp_cache_destroy(copied.cache);
	copied.peer = NULL;
	copied.cache = NULL;
}

static int copy_peer(uint64_t bytes, long arg, struct perf_why *why)
{
	struct pp_copy_result result = { 0 };
	int ret = pp_peer_copy(copied.peer, memory_at(&copied.to), memory_at(&copied.from), bytes, &result);

	(void)arg;
	if (ret && result.why.reason)
		return perf_refuse_pin(why, ret, &result.why);
	return ret ? perf_refuse_call(why, "pp_peer_copy", ret) : 0;
}

static const struct perf_calls cuda_calls = { .begin = begin, .run = copy_cuda, .end = end };

static const struct perf_calls peer_calls = {
	.open = open_peer, .begin = begin, .run = copy_peer, .end = end, .close = close_peer,
};

const struct perf_op copy_ops[] = {
	{ "memcpy", "copy", "memcpy, host to host", NULL, true, &cuda_calls, 0 },
	{ "cuda_to_gpu", "copy", "cuMemcpy, host to GPU", "memcpy", true, &cuda_calls, TO_GPU },
	{ "cuda_to_host", "copy", "cuMemcpy, GPU to host", "memcpy", true, &cuda_calls, FROM_GPU },
	{ "cuda_gpu", "copy", "cuMemcpy, GPU to GPU", NULL, true, &cuda_calls, FROM_GPU | TO_GPU },
	{ "peer_host", "copy", "peer, host to host", "memcpy", true, &peer_calls, 0 },
	{ "peer_to_gpu", "copy", "peer, host to GPU", "cuda_to_gpu", true, &peer_calls, TO_GPU },
	{ "peer_to_host", "copy", "peer, GPU to host", "cuda_to_host", true, &peer_calls, FROM_GPU },
	{ "peer_gpu", "copy", "peer, GPU to GPU", "cuda_gpu", true, &peer_calls, FROM_GPU | TO_GPU },
	{ 0 },
};
