// SPDX-License-Identifier: MIT
/* A driver author's test of /dev/importer0. Exit status 0: passed; 2: wrong data; 1: another failure. */
#include <errno.h>
#include <fcntl.h>
#include <importer.h>
#include <sys/ioctl.h>
#include "gpu.h"

enum {
	PAGE = 4096,
	GPU_PAGE = 64 * KIB,
	NEVER = 0x7ffffff0,	/* a handle that never exists */
	SIZE = 4 * MIB,
	DST_SIZE = 3 * MIB,
};

/* A dma-buf of @memory from offset @at on */
struct imported {
	struct memory *memory;
	size_t at;
	uint32_t handle;
};

static int node(void)
{
	int fd = open("/dev/importer0", O_RDWR | O_CLOEXEC);

	NEED(fd >= 0);
	return fd;
}

static int export(const struct memory *m, size_t at, size_t length)
{
	int dmabuf = -1;

	NEED(!cuMemGetHandleForAddressRange(&dmabuf, m->va + at, length, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
	return dmabuf;
}

static struct imported import(int fd, struct memory *m, size_t at, size_t length)
{
	struct importer_import args = { .fd = export(m, at, length) };

	NEED(!ioctl(fd, IMPORTER_IMPORT, &args));
	NEED(!close(args.fd));
	return (struct imported){ m, at, args.out_handle };
}

static int release(int fd, uint32_t handle)
{
	struct importer_release args = { .handle = handle };

	return ioctl(fd, IMPORTER_RELEASE, &args) ? errno : 0;
}

static int copy_handles(int fd, uint32_t dst, uint64_t to, uint32_t src, uint64_t from, uint64_t length)
{
	struct importer_copy args = { dst, src, to, from, length };

	return ioctl(fd, IMPORTER_COPY, &args) ? errno : 0;
}

/* Copy by the chip, and copy the same bytes in the model. */
static void copy(int fd, struct imported dst, size_t to, struct imported src, size_t from, size_t length)
{
	NEED(!copy_handles(fd, dst.handle, to, src.handle, from, length));
	memcpy(dst.memory->model + dst.at + to, src.memory->model + src.at + from, length);
}

static void copy_and_look(int fd, struct imported dst, size_t to, struct imported src, size_t from, size_t length)
{
	copy(fd, dst, to, src, from, length);
	TRUE_DATA(memory_is_as_modelled(dst.memory));
}

/* ---- tests ------------------------------------------------------------------- */

static void sizes(int fd, struct imported dst, struct imported src)
{
	copy(fd, dst, 0, src, 0, 1);
	copy(fd, dst, 5, src, 3, PAGE + 1);
	copy(fd, dst, GPU_PAGE - 100, src, 2 * GPU_PAGE - 7, 200);
	copy_and_look(fd, dst, 2 * GPU_PAGE + 11, src, 77, GPU_PAGE + 1);
	copy_and_look(fd, dst, 0, src, 1, DST_SIZE);
}

/* Two dma-bufs of the same memory, which overlap */
static void overlapping(int fd, struct memory *a, struct memory *b)
{
	struct imported first = import(fd, a, 3 * GPU_PAGE, 4 * GPU_PAGE), wide = import(fd, a, PAGE, 20 * GPU_PAGE);
	struct imported to = import(fd, b, 0, MIB);

	NEED(!release(fd, first.handle));
	copy_and_look(fd, to, 9, wide, 17, 15 * GPU_PAGE);
	NEED(!release(fd, wide.handle));
	NEED(!release(fd, to.handle));
}

/* If the driver accepts a bad copy, no byte of the memory may change: compare with the model. */
static void refused(int fd, struct imported dst, uint64_t to, struct imported src, uint64_t from, uint64_t length,
		    int want)
{
	int err = copy_handles(fd, dst.handle, to, src.handle, from, length);

	if (!err)
		TRUE_DATA(memory_is_as_modelled(dst.memory));
	NEED(err == want || err == ESTALE);
}

static void bad_ranges(int fd, struct imported dst, struct imported src)
{
	refused(fd, dst, 0, src, 0, 0, EINVAL);
	refused(fd, dst, DST_SIZE, src, 0, 1, EINVAL);
	refused(fd, dst, 0, src, SIZE - 8, 9, EINVAL);
	refused(fd, dst, ~0ull, src, 0, 2, EINVAL);
	refused(fd, dst, GPU_PAGE, src, GPU_PAGE, 0ull - PAGE, EINVAL);
	refused(fd, dst, 100, dst, 0, 200, EINVAL);
}

static void bad_handles(int fd, struct imported dst, struct imported src)
{
	struct imported gone = import(fd, dst.memory, 0, GPU_PAGE), never = dst;
	struct importer_import args = { .fd = fd };

	NEED(!release(fd, gone.handle));
	NEED(release(fd, gone.handle) == ENOENT);
	never.handle = NEVER;
	refused(fd, gone, 0, src, 0, PAGE, ENOENT);
	refused(fd, dst, 0, never, PAGE, PAGE, ENOENT);
	NEED(ioctl(fd, IMPORTER_IMPORT, &args));
	args.fd = -1;
	NEED(ioctl(fd, IMPORTER_IMPORT, &args));
}

/* The chip must read the memory after earlier GPU work has finished. */
static void after_gpu_work(int fd, struct imported dst, struct imported src)
{
	NEED(!cuMemsetD8(src.memory->va, 0x77, GPU_PAGE));
	memset(src.memory->model, 0x77, GPU_PAGE);
	copy_and_look(fd, dst, 100, src, 0, GPU_PAGE);
}

/*
 * An exporter that can notify importers revokes freed memory. Any other exporter, as NVIDIA's driver, keeps it
 * until the last importer has gone. Both ways, the chip does not reach the memory that is next at the address.
 */
static void freed(int fd, struct imported other)
{
	struct memory m = memory_new(2 * MIB, 4);
	struct imported old = import(fd, &m, 0, 2 * MIB), new;
	int err;

	copy_and_look(fd, old, 0, other, 0, MIB);
	memory_free(&m);
	err = copy_handles(fd, old.handle, 0, other.handle, 0, PAGE);
	NEED(!err || err == ESTALE);
	m = memory_new(2 * MIB, 5);
	new = import(fd, &m, 0, MIB);
	err = copy_handles(fd, old.handle, 0, other.handle, GPU_PAGE, MIB);
	NEED(!err || err == ESTALE);
	TRUE_DATA(memory_is_as_modelled(&m));
	NEED(!release(fd, old.handle));
	copy_and_look(fd, new, 1, other, 0, MIB - 1);
	NEED(!release(fd, new.handle));
	memory_free(&m);
}

/* Each file has its own handles. Close one file with handles left: the other file keeps its handles. */
static void two_descriptors(int fd, struct memory *a, struct memory *b)
{
	int second = node();
	struct imported from = import(second, a, PAGE, MIB), to = import(second, b, 0, MIB);

	copy_and_look(second, to, 0, from, 0, MIB);
	from = import(fd, a, GPU_PAGE, MIB);
	NEED(!close(second));
	to = import(fd, b, PAGE, MIB);
	copy_and_look(fd, to, 0, from, 1, MIB - 1);
	NEED(!release(fd, from.handle));
	NEED(!release(fd, to.handle));
}

int main(void)
{
	struct imported dst, src;
	struct memory a, b;
	int fd;

	gpu_start();
	fd = node();
	a = memory_new(SIZE, 1);
	b = memory_new(SIZE, 2);
	src = import(fd, &a, 0, SIZE);
	dst = import(fd, &b, PAGE, DST_SIZE);
	sizes(fd, dst, src);
	overlapping(fd, &a, &b);
	after_gpu_work(fd, dst, src);
	two_descriptors(fd, &a, &b);
	freed(fd, src);
	bad_handles(fd, dst, src);
	bad_ranges(fd, dst, src);
	import(fd, &a, 0, GPU_PAGE);
	copy_and_look(fd, dst, 0, src, 0, DST_SIZE);
	return 0;	/* exits with handles left */
}
