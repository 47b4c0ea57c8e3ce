/* SPDX-License-Identifier: MIT */
/* Long reads from a disk into a view of GPU memory. emu/vm/run --disk-rate makes the disk slow. */
#ifndef TEST_FLIGHT_H
#define TEST_FLIGHT_H

#include <errno.h>
#include <liburing.h>

#include "storage.h"

enum {
	READS = 12,
	LENGTH = 1 << 20,
	SIZE = READS * LENGTH,
	FIRST_MS = 100,		/* by then the disk has the first reads; all reads take more than a second */
	OTHERS = 5,		/* mark of the data that the next owner of the memory writes */
};

/** struct flight - reads in flight into a view of an allocation */
struct flight {
	CUdeviceptr gpu;
	int dmabuf;
	unsigned char *view;
	int disk;
	struct io_uring ring;
	int result[READS];
};

static unsigned char *host;
static uint64_t free_at_start;

static inline int mark_disk(void)
{
	int fd = open(DISK, O_RDWR), ok;

	fill(host, SIZE, 1, 0);
	ok = pwrite(fd, host, SIZE, 0) == SIZE && !fsync(fd);
	close(fd);
	return ok;
}

static inline int start(void)
{
	static int started;

	if (!started)
		started = !system("modprobe nvme") && disk_is_there() && cu_start(0) && (host = malloc(SIZE)) &&
			  (free_at_start = gpu_free()) && mark_disk();
	return started;
}

#define NEEDS_PAGES() \
	do { \
		EXPECT(start(), "no NVMe disk, or no GPU"); \
		EXPECT(lends_as_it_must(), "GPU 0 lends no pages, though asked to on a kernel that can"); \
		if (!lends_pages()) \
			SKIP("GPU memory has no struct page: no PCI_P2PDMA in the kernel; type: make check KERNEL=7"); \
	} while (0)

/* ---- reads under way ------------------------------------------------------------- */

static inline int view_open(struct flight *f)
{
	f->dmabuf = -1;
	if (cuMemAlloc(&f->gpu, SIZE) || cuMemsetD8(f->gpu, 0, SIZE) || cuCtxSynchronize() ||
	    cuMemGetHandleForAddressRange(&f->dmabuf, f->gpu, SIZE, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0))
		return -1;
	f->view = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, f->dmabuf, 0);
	return f->view == MAP_FAILED ? -errno : 0;
}

static inline void view_close(struct flight *f)
{
	munmap(f->view, SIZE);
	close(f->dmabuf);
}

static inline int submit(struct flight *f)
{
	unsigned int i;

	f->disk = open(DISK, O_RDONLY | O_DIRECT);
	if (f->disk < 0 || io_uring_queue_init(READS, &f->ring, 0))
		return -1;
	for (i = 0; i < READS; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&f->ring);

		io_uring_prep_read(sqe, f->disk, f->view + i * LENGTH, LENGTH, i * LENGTH);
		io_uring_sqe_set_data64(sqe, i);
	}
	if (io_uring_submit(&f->ring) != READS)
		return -1;
	usleep(FIRST_MS * 1000);
	return 0;
}

static inline int takeoff(struct flight *f)
{
	int err = view_open(f);

	return err ? err : submit(f);
}

static inline unsigned int under_way(struct flight *f)
{
	return READS - io_uring_cq_ready(&f->ring);
}

/*
 * Wait for all reads; returns the number of complete reads. The kernel may start a read only after
 * its submission. Then the read looks up the view later, and gets -EFAULT if the view is gone.
 */
static inline int land(struct flight *f)
{
	struct io_uring_cqe *cqe;
	int i, whole = 0;

	for (i = 0; i < READS; i++) {
		if (io_uring_wait_cqe(&f->ring, &cqe))
			return -1;
		f->result[cqe->user_data] = cqe->res;
		whole += cqe->res == LENGTH;
		io_uring_cqe_seen(&f->ring, cqe);
	}
	io_uring_queue_exit(&f->ring);
	close(f->disk);
	return whole;
}

static inline void all_is_free_in_the_end(void)
{
	int i;

	for (i = 0; i < 300 && gpu_free() != free_at_start; i++)
		usleep(100000);
	EXPECT(gpu_free() == free_at_start, "%lu bytes of GPU memory are free, %lu before", gpu_free(), free_at_start);
}

/* 1 if the CPU can read @where, or -errno. write() reports a fault without a signal. */
static inline int touch(const void *where)
{
	int ends[2], n;

	if (pipe(ends))
		return -errno;
	n = write(ends[1], where, 1) == 1 ? 1 : -errno;
	close(ends[0]);
	close(ends[1]);
	return n;
}

/* Make later dma-bufs dynamic ("Y"): they end with their memory. */
static inline int set_dynamic(const char *value)
{
	int fd = open("/sys/module/emugpu/parameters/dmabuf_dynamic", O_WRONLY), ok = write(fd, value, 1) == 1;

	close(fd);
	return ok;
}

#endif
