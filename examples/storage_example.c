// SPDX-License-Identifier: MIT
/*
 * Copy a file to another file through GPU memory, by DMA of the disk where possible; see
 * doc/storage.md.
 *
 *	storage FROM TO
 */
#include <cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "libpeerpin.h"

static int complain(const char *what, int error)
{
	fprintf(stderr, "storage: %s: %s\n", what, strerror(error));
	return 1;
}

static void say(const char *what, const struct pp_file_result *r)
{
	printf("%s: %" PRIu64 " bytes by the disk's DMA, %" PRIu64 " through host memory", what, r->direct, r->bounced);
	printf(r->bounced ? " (%s)\n" : "\n", pp_file_strreason(r->reason));
}

/* Return: GPU memory of @size bytes; 0: no GPU or no memory */
static CUdeviceptr gpu_alloc(size_t size)
{
	CUcontext ctx;
	CUdeviceptr gpu;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) || cuMemAlloc(&gpu, size))
		return 0;
	return gpu;
}

static int move(struct pp_file *file, int write, CUdeviceptr gpu, size_t size)
{
	void *memory = (void *)(uintptr_t)gpu;
	struct pp_file_result r;
	int ret = write ? pp_file_write(file, memory, size, 0, &r) : pp_file_read(file, memory, size, 0, &r);

	if (ret)
		return complain(write ? "write" : "read", -ret);
	if (r.direct + r.bounced < size)
		return complain("the file is shorter than expected", ENODATA);
	say(write ? "GPU to file" : "file to GPU", &r);
	return 0;
}

static int move_file(int fd, struct pp_cache *views, int write, CUdeviceptr gpu, size_t size)
{
	struct pp_file *file;
	int ret = pp_file_open(fd, views, &file);

	if (ret)
		return complain("pp_file_open", -ret);
	ret = move(file, write, gpu, size);
	pp_file_close(file);
	return ret;
}

/* Both files use one cache, so the view of an allocation is made only once. */
static int move_both(int from, int to, CUdeviceptr gpu, size_t size)
{
	struct pp_cache *views;
	int ret = pp_cache_create_view(NULL, &views);

	if (ret)
		return complain("pp_cache_create_view", -ret);
	ret = move_file(from, views, 0, gpu, size) || move_file(to, views, 1, gpu, size);
	pp_cache_destroy(views);
	return ret;
}

static int copy(int from, int to, size_t size)
{
	CUdeviceptr gpu = gpu_alloc(size);
	int ret;

	if (!gpu)
		return complain("no GPU, or not enough memory on it", ENODEV);
	ret = move_both(from, to, gpu, size);
	cuMemFree(gpu);
	return ret;
}

/* Writing the data to the disk can still fail, so call fsync(). */
static int finish(const char *path, int fd)
{
	int ret = fsync(fd) ? complain(path, errno) : 0;

	return close(fd) && !ret ? complain(path, errno) : ret;
}

/* Open TO. Truncate it only after the check that TO is not the same file as FROM. */
static int open_target(const char *path, const struct stat *other, int *out)
{
	struct stat st;

	*out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (*out < 0 || fstat(*out, &st))
		return complain(path, errno);
	if (st.st_dev == other->st_dev && st.st_ino == other->st_ino)
		return complain("FROM and TO are the same file", EINVAL);
	return S_ISREG(st.st_mode) && ftruncate(*out, 0) ? complain(path, errno) : 0;
}

int main(int argc, char **argv)
{
	struct stat st;
	int from, to, ret;

	if (argc != 3) {
		fprintf(stderr, "usage: storage FROM TO\n");
		return 2;
	}
	from = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (from < 0 || fstat(from, &st))
		return complain(argv[1], errno);
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return complain(argv[1], EINVAL);
	if (open_target(argv[2], &st, &to))
		return 1;
	ret = copy(from, to, st.st_size);
	return finish(argv[2], to) || ret;
}
