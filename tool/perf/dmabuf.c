// SPDX-License-Identifier: MIT
/* Exports of GPU memory as dma-bufs: by the GPU's driver, and of a pinned region. */
#include <unistd.h>
#include "memory.h"

static struct {
	struct pp_ctx *ctx;
	struct perf_memory memory;
	struct pp_region region;
	bool pinned;
	int fd;
} exported;

static int close_fd(uint64_t bytes, long arg, struct perf_why *why)
{
	(void)bytes, (void)arg, (void)why;
	return close(exported.fd);
}

static void end(long arg)
{
	(void)arg;
	if (exported.pinned)
		pp_unpin(exported.ctx, &exported.region);
	exported.pinned = false;
	memory_put(&exported.memory);
}

/* ---- by the GPU's driver -------------------------------------------------------------- */

static int begin_driver(uint64_t bytes, long arg, struct perf_why *why)
{
	(void)arg;
	return memory_get(&exported.memory, PERF_GPU, bytes, why);
}

static int export_driver(uint64_t bytes, long arg, struct perf_why *why)
{
	struct pp_why reason = { 0 };
	struct pp_dmabuf buf;
	int ret = pp_dmabuf_export(memory_at(&exported.memory), bytes, &buf, &reason);

	(void)arg;
	if (ret)
		return perf_refuse_pin(why, ret, &reason);
	exported.fd = buf.fd;
	return 0;
}

/* ---- of a region ------------------------------------------------------------------------ */

static int open_ctx(const struct perf_args *args, long arg, struct perf_why *why)
{
	(void)args, (void)arg;
	return perf_need_ctx(&exported.ctx, why);
}

static int begin_region(uint64_t bytes, long arg, struct perf_why *why)
{
	struct pp_why reason = { 0 };
	int ret;

	if (begin_driver(bytes, arg, why))
		return -1;
	ret = pp_pin(exported.ctx, memory_at(&exported.memory), bytes, &exported.region, &reason);
	exported.pinned = !ret;
	return ret ? perf_refuse_pin(why, ret, &reason) : 0;
}

static int export_region(uint64_t bytes, long arg, struct perf_why *why)
{
	int ret = pp_region_export(exported.ctx, &exported.region, 0, exported.region.length, &exported.fd);

	(void)bytes, (void)arg;
	return ret ? perf_refuse_call(why, "pp_region_export", ret) : 0;
}

static const struct perf_calls driver_calls = {
	.begin = begin_driver, .run = export_driver, .after = close_fd, .end = end,
};

static const struct perf_calls region_calls = {
	.open = open_ctx, .begin = begin_region, .run = export_region, .after = close_fd, .end = end,
};

const struct perf_op dmabuf_ops[] = {
	{ "export_driver", "dmabuf", "dma-buf by the GPU's driver", NULL, false, &driver_calls, 0 },
	{ "export_region", "dmabuf", "dma-buf of a pinned region", "export_driver", false, &region_calls, 0 },
	{ 0 },
};
