// SPDX-License-Identifier: MIT
/* A driver author's test of /dev/importer0. Exit status 0: passed; 2: wrong data; 1: another failure. */
#include <fcntl.h>
#include <importer.h>
#include <sys/ioctl.h>
#include "copies.h"

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

static struct part take(int fd, struct memory *m, size_t at, size_t length)
{
	struct importer_import args = { .fd = export(m, at, length) };

	NEED(!ioctl(fd, IMPORTER_IMPORT, &args));
	NEED(!close(args.fd));
	return (struct part){ m, at, args.out_handle };
}

static int drop(int fd, uint32_t handle)
{
	struct importer_release args = { .handle = handle };

	return ioctl(fd, IMPORTER_RELEASE, &args) ? errno : 0;
}

static int copy_handles(int fd, uint32_t dst, uint64_t to, uint32_t src, uint64_t from, uint64_t length)
{
	struct importer_copy args = { dst, src, to, from, length };

	return ioctl(fd, IMPORTER_COPY, &args) ? errno : 0;
}

/* ---- tests ------------------------------------------------------------------- */

static void bad_dmabufs(int fd)
{
	struct importer_import args = { .fd = fd };

	NEED(ioctl(fd, IMPORTER_IMPORT, &args));
	args.fd = -1;
	NEED(ioctl(fd, IMPORTER_IMPORT, &args));
}

/*
 * An exporter that can notify importers revokes freed memory. Any other exporter, as NVIDIA's driver, keeps it
 * until the last importer has gone. Both ways, the chip does not reach the memory that is next at the address.
 */
static void freed(int fd, struct part other)
{
	struct memory m = memory_new(2 * MIB, 4);
	struct part old = take(fd, &m, 0, 2 * MIB), new;
	int err;

	copy_and_look(fd, old, 0, other, 0, MIB);
	memory_free(&m);
	err = copy_handles(fd, old.handle, 0, other.handle, 0, PAGE);
	NEED(!err || err == ESTALE);
	m = memory_new(2 * MIB, 5);
	new = take(fd, &m, 0, MIB);
	err = copy_handles(fd, old.handle, 0, other.handle, GPU_PAGE, MIB);
	NEED(!err || err == ESTALE);
	TRUE_DATA(memory_is_as_modelled(&m));
	NEED(!drop(fd, old.handle));
	copy_and_look(fd, new, 1, other, 0, MIB - 1);
	NEED(!drop(fd, new.handle));
	memory_free(&m);
}

int main(void)
{
	struct part dst, src;
	struct memory a, b;
	int fd;

	gpu_start();
	fd = node();
	a = memory_new(SIZE, 1);
	b = memory_new(SIZE, 2);
	src = take(fd, &a, 0, SIZE);
	dst = take(fd, &b, PAGE, DST_SIZE);
	sizes(fd, dst, src);
	overlapping(fd, &a, PAGE, &b);
	after_gpu_work(fd, dst, src);
	two_descriptors(fd, &a, PAGE, &b);
	freed(fd, src);
	bad_handles(fd, dst, src);
	bad_dmabufs(fd);
	bad_ranges(fd, dst, src);
	take(fd, &a, 0, GPU_PAGE);
	copy_and_look(fd, dst, 0, src, 0, DST_SIZE);
	return 0;	/* exits with handles left */
}
