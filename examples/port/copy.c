// SPDX-License-Identifier: MIT
/*
 * A program for /dev/edu: copies one surface to another and compares.
 *
 *	copy gpu|host gpu|host		source, destination
 */
#include <cuda.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "edu.h"

enum {
	LENGTH = 6000,
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void cuda(const char *what, CUresult result)
{
	if (!result)
		return;
	fprintf(stderr, "copy: %s: CUDA error %d\n", what, result);
	exit(1);
}

static void cuda_start(void)
{
	CUcontext ctx;
	CUdevice gpu;

	cuda("cuInit", cuInit(0));
	cuda("cuDeviceGet", cuDeviceGet(&gpu, 0));
	cuda("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&ctx, gpu));
	cuda("cuCtxSetCurrent", cuCtxSetCurrent(ctx));
}

static void *host_surface(void)
{
	void *at = malloc(LENGTH);

	if (!at)
		die("malloc");
	return at;
}

/* With SYNC_MEMOPS, CUDA's copies to this memory have ended when their calls return. */
static void *gpu_surface(void)
{
	unsigned int on = 1;
	CUdeviceptr at;

	cuda("cuMemAlloc", cuMemAlloc(&at, LENGTH));
	cuda("SYNC_MEMOPS", cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
	return (void *)at;
}

static bool is_gpu(const char *where)
{
	return !strcmp(where, "gpu");
}

static void *surface(const char *where)
{
	return is_gpu(where) ? gpu_surface() : host_surface();
}

static void free_surface(const char *where, void *at)
{
	if (is_gpu(where))
		cuda("cuMemFree", cuMemFree((CUdeviceptr)at));
	else
		free(at);
}

static void move(void *dst, const void *src)
{
	cuda("cuMemcpy", cuMemcpy((CUdeviceptr)dst, (CUdeviceptr)src, LENGTH));
}

/* Each process has its own bytes, so that another process's bytes are detected. */
static void fill(unsigned char *bytes)
{
	unsigned int i, n;

	for (i = 0; i < LENGTH; i++) {
		n = i + getpid();
		bytes[i] = n * 7 + n / 251;
	}
}

int main(int argc, char **argv)
{
	static unsigned char before[LENGTH], after[LENGTH];
	struct edu_copy c = { .length = LENGTH };
	void *src, *dst;
	int fd;

	if (argc != 3)
		return 2;
	fd = open("/dev/edu", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("/dev/edu");
	cuda_start();
	src = surface(argv[1]);
	dst = surface(argv[2]);
	fill(before);
	move(src, before);
	c.src = (__u64)src;
	c.dst = (__u64)dst;
	if (ioctl(fd, EDU_IOC_COPY, &c))
		die("copy");
	move(after, dst);
	if (memcmp(before, after, LENGTH))
		return 2;
	free_surface(argv[2], dst);
	free_surface(argv[1], src);
	printf("%d bytes from %s to %s: the same\n", LENGTH, argv[1], argv[2]);
	return 0;
}
