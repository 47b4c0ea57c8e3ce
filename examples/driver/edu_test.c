// SPDX-License-Identifier: MIT
/*
 * The edu device moves bytes from host memory to GPU memory, inside GPU memory, and back.
 *
 *	edu_test [NODE]			(/dev/edu0)
 *
 * Exit status: 0 all bytes arrived; 2 wrong bytes arrived; 1 another error. `peerpin verify
 * --device edu` relies on these values.
 */
#include <cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <libpeerpin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "edu.h"

enum {
	SIZE = EDU_BUFFER_BYTES,
	ALLOCATION = 2 << 20,
	AT = 20000,	/* any offset */
};

/** struct bench - open objects */
struct bench {
	int edu;
	struct pp_ctx *ctx;
	struct pp_cache *cache;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "edu_test: %s: %s\n", what, why);
	exit(1);
}

static void peerpin(const char *what, int error, const struct pp_why *why)
{
	char text[256];

	if (!error)
		return;
	pp_explain(text, sizeof(text), error, why);
	die(what, text);
}

static void cuda(const char *what, CUresult r)
{
	const char *name = "an unknown error";

	if (!r)
		return;
	cuGetErrorName(r, &name);
	die(what, name);
}

static void open_gpu(void)
{
	CUcontext ctx;

	cuda("cuInit", cuInit(0));
	cuda("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&ctx, 0));
	cuda("cuCtxSetCurrent", cuCtxSetCurrent(ctx));
}

static void open_all(struct bench *b, const char *node)
{
	open_gpu();
	b->edu = open(node, O_RDWR | O_CLOEXEC);
	if (b->edu < 0)
		die(node, strerror(errno));
	peerpin("/dev/peerpin", pp_open(&b->ctx), NULL);
	peerpin("cache", pp_cache_create_ctx(b->ctx, NULL, &b->cache), NULL);
}

static void close_all(struct bench *b)
{
	pp_cache_destroy(b->cache);
	pp_close(b->ctx);
	close(b->edu);
}

/* Pass a region of the cache to the driver as (file, region, offset). */
static const struct pp_cache_entry *find(struct bench *b, const void *memory, struct edu_place *place)
{
	const struct pp_cache_entry *entry;
	const struct pp_region *region;
	struct pp_why why;

	peerpin("pin", pp_cache_get(b->cache, memory, SIZE, &entry, &why), &why);
	region = entry->reg;
	place->fd = pp_fd(b->ctx);
	place->region = region->id;
	place->offset = (uintptr_t)memory - region->addr;
	return entry;
}

static void copy(struct bench *b, const void *from, const void *to)
{
	struct edu_copy c = { .length = SIZE };
	const struct pp_cache_entry *src = find(b, from, &c.src), *dst = find(b, to, &c.dst);

	if (ioctl(b->edu, EDU_IOC_COPY, &c))
		die("EDU_IOC_COPY", strerror(errno));
	pp_cache_put(b->cache, dst);
	pp_cache_put(b->cache, src);
}

static CUdeviceptr gpu_memory(void)
{
	CUdeviceptr gpu;

	cuda("cuMemAlloc", cuMemAlloc(&gpu, ALLOCATION));
	return gpu;
}

static void *at(CUdeviceptr gpu)
{
	return (void *)(uintptr_t)(gpu + AT);
}

static void check(const char *what, const unsigned char *found, const unsigned char *wanted)
{
	if (memcmp(found, wanted, SIZE)) {
		fprintf(stderr, "edu_test: %s: wrong bytes arrived\n", what);
		exit(2);
	}
	printf("%s: %d bytes\n", what, SIZE);
}

static void host_to_gpu_to_gpu_to_host(struct bench *b, unsigned char *host, const unsigned char *wanted)
{
	CUdeviceptr one = gpu_memory(), two = gpu_memory();

	copy(b, host, at(one));
	memset(host, 0, SIZE);
	cuda("cuMemcpyDtoH", cuMemcpyDtoH(host, one + AT, SIZE));
	check("host to GPU", host, wanted);
	copy(b, at(one), at(two));
	memset(host, 0, SIZE);
	copy(b, at(two), host);
	check("GPU to GPU to host", host, wanted);
	cuda("cuMemFree", cuMemFree(two));
	cuda("cuMemFree", cuMemFree(one));
}

int main(int argc, char **argv)
{
	static unsigned char wanted[SIZE], host[SIZE];
	struct bench b;

	for (int i = 0; i < SIZE; i++)	/* bytes of this process only, to detect bytes of another process */
		wanted[i] = host[i] = (unsigned char)((unsigned int)(i + getpid()) * 2654435761u >> 16);
	open_all(&b, argc > 1 ? argv[1] : "/dev/edu0");
	host_to_gpu_to_gpu_to_host(&b, host, wanted);
	close_all(&b);
	return 0;
}
