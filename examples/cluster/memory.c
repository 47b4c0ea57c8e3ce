// SPDX-License-Identifier: MIT
#include <cuda.h>
#include <errno.h>
#include <libpeerpin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "memory.h"

enum { ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE };

static struct pp_ctx *peerpin;

static int wrong(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	return -1;
}

static int cuda(const char *what, CUresult result)
{
	const char *text = "unknown error";

	if (result == CUDA_SUCCESS)
		return 0;
	cuGetErrorString(result, &text);
	return wrong(what, text);
}

static int succeed(const char *what, int error, const struct pp_why *why)
{
	char text[256];

	if (!error)
		return 0;
	pp_explain(text, sizeof(text), error, why);
	return wrong(what, text);
}

const char *memory_name(enum memory_kind kind)
{
	static const char *const names[MEMORY_KINDS] = {
		[MEMORY_HOST] = "host, ibv_reg_mr",
		[MEMORY_GPU] = "GPU, ibv_reg_mr",
		[MEMORY_CUDA_DMABUF] = "GPU, dma-buf of CUDA",
		[MEMORY_REGION_DMABUF] = "GPU, dma-buf of peerpin",
	};

	return names[kind];
}

int memory_init(void)
{
	CUcontext ctx;

	if (cuda("cuInit", cuInit(0)) || cuda("GPU 0", cuDevicePrimaryCtxRetain(&ctx, 0)))
		return -1;
	return cuda("cuCtxSetCurrent", cuCtxSetCurrent(ctx)) ?: succeed("/dev/peerpin", pp_open(&peerpin), NULL);
}

static int allocate(struct surface *s)
{
	CUdeviceptr gpu = 0;

	if (s->kind == MEMORY_HOST) {
		s->at = (uintptr_t)aligned_alloc(4096, s->size);
		return s->at ? 0 : wrong("host memory", strerror(errno));
	}
	if (cuda("cuMemAlloc", cuMemAlloc(&gpu, s->size)))
		return -1;
	s->at = gpu;
	return 0;
}

static int release(struct surface *s)
{
	if (s->kind != MEMORY_HOST)
		return cuda("cuMemFree", cuMemFree(s->at));
	free((void *)s->at);
	return 0;
}

/* ---- registration --------------------------------------------------------------- */

static int register_dmabuf(struct surface *s, struct ibv_pd *pd, int fd)
{
	s->mr = ibv_reg_dmabuf_mr(pd, 0, s->size, s->at, fd, ACCESS);
	close(fd);	/* the MR has a reference */
	return s->mr ? 0 : wrong("ibv_reg_dmabuf_mr", strerror(errno));
}

static int register_cuda(struct surface *s, struct ibv_pd *pd)
{
	int fd;

	if (cuda("cuMemGetHandleForAddressRange",
		 cuMemGetHandleForAddressRange(&fd, s->at, s->size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0)))
		return -1;
	return register_dmabuf(s, pd, fd);
}

static int register_region(struct surface *s, struct ibv_pd *pd)
{
	struct pp_region *region = &s->region;
	struct pp_why why;
	int fd;

	if (succeed("pp_pin", pp_pin(peerpin, (void *)s->at, s->size, region, &why), &why))
		return -1;
	if (succeed("pp_region_export", pp_region_export(peerpin, region, s->at - region->addr, s->size, &fd), NULL))
		return -1;
	return register_dmabuf(s, pd, fd);
}

int surface_open(struct surface *s, enum memory_kind kind, size_t size, struct ibv_pd *pd)
{
	*s = (struct surface){ .kind = kind, .size = size };
	if (allocate(s))
		return -1;
	if (kind == MEMORY_CUDA_DMABUF)
		return register_cuda(s, pd);
	if (kind == MEMORY_REGION_DMABUF)
		return register_region(s, pd);
	s->mr = ibv_reg_mr(pd, (void *)s->at, size, ACCESS);
	return s->mr ? 0 : wrong("ibv_reg_mr", strerror(errno));
}

int surface_close(struct surface *s)
{
	int error = ibv_dereg_mr(s->mr);

	if (error)
		return wrong("ibv_dereg_mr", strerror(error));
	if (s->region.id && succeed("pp_unpin", pp_unpin(peerpin, &s->region), NULL))
		return -1;
	return release(s);
}

int surface_replace(struct surface *s)
{
	s->region.id = 0;
	return release(s) ?: allocate(s);
}

/* ---- bytes ---------------------------------------------------------------------- */

static uint64_t word(uint64_t seed, size_t place)
{
	return (seed + place) * 0x9e3779b97f4a7c15;
}

int surface_fill(const struct surface *s, uint64_t seed)
{
	uint64_t *words = malloc(s->size);
	int ret = 0;
	size_t i;

	if (!words)
		return wrong("host memory", strerror(errno));
	for (i = 0; i < s->size / sizeof(*words); i++)
		words[i] = word(seed, i);
	if (s->kind == MEMORY_HOST)
		memcpy((void *)s->at, words, s->size);
	else
		ret = cuda("cuMemcpyHtoD", cuMemcpyHtoD(s->at, words, s->size));
	free(words);
	return ret;
}

int surface_check(const struct surface *s, uint64_t seed)
{
	size_t i, bad = 0, count = s->size / sizeof(uint64_t);
	uint64_t *words = malloc(s->size);
	int ret = 0;

	if (!words)
		return wrong("host memory", strerror(errno));
	if (s->kind == MEMORY_HOST)
		memcpy(words, (void *)s->at, s->size);
	else
		ret = cuda("cuMemcpyDtoH", cuMemcpyDtoH(words, s->at, s->size));
	for (i = 0; !ret && i < count; i++)
		bad += words[i] != word(seed, i);
	if (bad)
		fprintf(stderr, "%zu of %zu words are wrong\n", bad, count);
	free(words);
	return ret || bad ? -1 : 0;
}
