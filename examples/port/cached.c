// SPDX-License-Identifier: MIT
/*
 * A program for /dev/edu that pins once for many copies, by the cache of libpeerpin. It copies GPU
 * memory twice, then frees it during a long copy.
 */
#include <cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <libpeerpin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "edu.h"

static struct pp_ctx *ctx;
static struct pp_cache *cache;
static CUcontext gpu;
static int edu;

static void die(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	exit(1);
}

static void cuda(const char *what, CUresult result)
{
	if (!result)
		return;
	fprintf(stderr, "%s: CUDA error %d\n", what, result);
	exit(1);
}

static void start(void)
{
	int err;

	cuda("cuInit", cuInit(0));
	cuda("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&gpu, 0));
	cuda("cuCtxSetCurrent", cuCtxSetCurrent(gpu));
	err = pp_open(&ctx);
	if (!err)
		err = pp_cache_create_ctx(ctx, NULL, &cache);
	if (err)
		die("/dev/peerpin", err);
	edu = open("/dev/edu", O_RDWR | O_CLOEXEC);
	if (edu < 0)
		die("/dev/edu", -errno);
}

static void place(struct edu_place *p, const struct pp_cache_entry *e, CUdeviceptr at)
{
	const struct pp_region *region = e->reg;

	p->fd = pp_fd(ctx);
	p->region = region->id;
	p->offset = at - region->addr;
}

static int copy(CUdeviceptr dst, CUdeviceptr src, size_t length)
{
	const struct pp_cache_entry *to, *from;
	struct edu_copy_places c = { .length = length };
	int err;

	err = pp_cache_get(cache, (void *)dst, length, &to, NULL);
	if (err)
		return err;
	err = pp_cache_get(cache, (void *)src, length, &from, NULL);
	if (err)
		goto out_to;
	place(&c.dst, to, dst);
	place(&c.src, from, src);
	if (ioctl(edu, EDU_IOC_COPY_PLACES, &c))
		err = -errno;
	pp_cache_put(cache, from);
out_to:
	pp_cache_put(cache, to);
	return err;
}

static CUdeviceptr surface(size_t length)
{
	CUdeviceptr at;

	cuda("cuMemAlloc", cuMemAlloc(&at, length));
	return at;
}

static void copy_twice(void)
{
	CUdeviceptr src = surface(6000), dst = surface(6000);
	unsigned char after[6000] = {};
	struct pp_cache_stats stats;
	int i, err;

	cuda("cuMemsetD8", cuMemsetD8(src, 0x5a, 6000));
	cuda("cuCtxSynchronize", cuCtxSynchronize());
	for (i = 0; i < 2; i++) {
		err = copy(dst, src, 6000);
		if (err)
			die("copy", err);
	}
	cuda("cuMemcpyDtoH", cuMemcpyDtoH(after, dst, 6000));
	if (after[0] != 0x5a || memcmp(after, after + 1, 5999))
		die("the copy is not the same", -EIO);
	pp_cache_stats(cache, &stats);
	printf("2 copies: %lu pins, %lu hits\n", stats.pins, stats.hits);
	cuda("cuMemFree", cuMemFree(dst));
	cuda("cuMemFree", cuMemFree(src));
}

static void *free_soon(void *at)
{
	struct timespec from, to;

	cuda("cuCtxSetCurrent", cuCtxSetCurrent(gpu));
	usleep(500000);
	clock_gettime(CLOCK_MONOTONIC, &from);
	cuda("cuMemFree", cuMemFree((CUdeviceptr)at));
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("cuMemFree() took %.1f s\n", (to.tv_sec - from.tv_sec) + (to.tv_nsec - from.tv_nsec) / 1e9);
	return NULL;
}

/* large allocations, because small ones share blocks: see pp_region_valid() in libpeerpin.h */
static void free_while_copied(void)
{
	CUdeviceptr src = surface(4 << 20), dst = surface(4 << 20);
	pthread_t thread;
	int err;

	if (pthread_create(&thread, NULL, free_soon, (void *)src))
		die("thread", -EAGAIN);
	err = copy(dst, src, 16384);
	pthread_join(thread, NULL);
	printf("the copy: %s\n", strerror(-err));
	cuda("cuMemFree", cuMemFree(dst));
}

int main(void)
{
	start();
	copy_twice();
	free_while_copied();
	pp_cache_destroy(cache);
	pp_close(ctx);
	close(edu);
	return 0;
}
