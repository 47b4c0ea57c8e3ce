// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include <string.h>
#include <sys/mman.h>
#include "memory.h"
#include "tool/copy/gpu.h"
#include "tool/copy/surface.h"

int perf_refuse_pin(struct perf_why *why, int error, const struct pp_why *reason)
{
	pp_explain(why->at, sizeof(why->at), error, reason);
	return -1;
}

int perf_refuse_call(struct perf_why *why, const char *call, int error)
{
	return perf_refuse(why, "%s: %s", call, strerror(error < 0 ? -error : error));
}

int perf_refuse_cuda(struct perf_why *why, const char *call, int result)
{
	return perf_refuse(why, "%s() says %s", call, gpu_error(result));
}

int perf_need_gpu(struct perf_why *why)
{
	return gpu_try_open(why->at, sizeof(why->at)) == GPU_OPEN ? 0 : -1;
}

int perf_need_ctx(struct pp_ctx **out, struct perf_why *why)
{
	static struct pp_ctx *ctx;
	int ret = ctx ? 0 : pp_open(&ctx);

	*out = ctx;
	switch (ret) {
	case 0:
		return 0;
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		return perf_refuse(why, "the kernel module is not loaded (no /dev/peerpin); type: modprobe peerpin");
	case -EACCES:
	case -EPERM:
		return perf_refuse(why, "no permission to open /dev/peerpin");
	default:
		return perf_refuse_call(why, "/dev/peerpin", ret);
	}
}

/* ---- memory ------------------------------------------------------------------------------ */

static int get_gpu(struct perf_memory *m, struct perf_why *why)
{
	struct gpu_room room;
	int ret;

	if (perf_need_gpu(why))
		return -1;
	ret = gpu_room(&room);
	if (ret)
		return perf_refuse_cuda(why, "cuMemGetInfo", ret);
	if (m->bytes > room.free / 2)
		return perf_refuse(why, "less than twice as much GPU memory is free");
	ret = gpu_alloc(m->bytes, &m->at);
	if (ret)
		m->at = 0;
	return ret ? perf_refuse_cuda(why, "cuMemAlloc", ret) : 0;
}

static int get_host(struct perf_memory *m, struct perf_why *why)
{
	uint64_t room = host_room();
	void *at;

	if (room && m->bytes > room / 4)
		return perf_refuse(why, "less than four times as much host memory is free");
	at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (at == MAP_FAILED)
		return perf_refuse_call(why, "mmap", errno);
	memset(at, 0x5a, m->bytes);
	m->at = (uintptr_t)at;
	return 0;
}

int memory_get(struct perf_memory *m, enum perf_kind kind, uint64_t bytes, struct perf_why *why)
{
	*m = (struct perf_memory){ .kind = kind, .bytes = bytes };
	return kind == PERF_GPU ? get_gpu(m, why) : get_host(m, why);
}

void memory_put(struct perf_memory *m)
{
	if (m->at && m->kind == PERF_GPU)
		gpu_free(m->at);
	else if (m->at)
		munmap((void *)(uintptr_t)m->at, m->bytes);
	m->at = 0;
}

void *memory_at(const struct perf_memory *m)
{
	return (void *)(uintptr_t)m->at;
}
