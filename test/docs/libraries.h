/* SPDX-License-Identifier: MIT */
/* Declarations that the code blocks of doc/libraries.md need. */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <libpeerpin.h>
#include <libpeerpin-hook.h>
#include <linux/types.h>
#include <peerpin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct pp_ctx *ctx;
struct pp_cache *cache;
struct pp_region region;
struct pp_why why;
int err;
int sent;	/* number of calls of device_send() and the functions below it */

static inline int start(void)
{
	CUcontext gpu;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&gpu, 0) || cuCtxSetCurrent(gpu))
		return -ENODEV;
	err = pp_open(&ctx);
	return err ? err : pp_cache_create_ctx(ctx, NULL, &cache);
}

static inline void *gpu_memory(size_t length)
{
	CUdeviceptr at;

	return cuMemAlloc(&at, length) ? NULL : (void *)(uintptr_t)at;
}

static inline int device_send(int fd, uint32_t id, uint64_t offset, size_t length)
{
	sent++;
	return fd >= 0 && id < PEERPIN_MAX_REGIONS && offset + length <= 64 << 20 ? 0 : -EINVAL;
}
