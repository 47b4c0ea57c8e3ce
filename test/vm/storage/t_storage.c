// SPDX-License-Identifier: MIT
/* Copies between files and GPU memory: every byte, and the path (direct or bounced). */
#include <errno.h>
#include <pthread.h>

#include "storage.h"

enum {
	ROOM = 12 << 20,
	BEFORE = 7,		/* mark of the old data of the memory or the file */
	WRITTEN = 9,
};

static CUdeviceptr gpu;
static unsigned char *host;	/* host memory as large as @gpu */
static struct pp_cache *views;
static uint64_t free_at_start;

static int start(void)
{
	static int started;

	if (!started)
		started = storage_start() && cu_start(0) && (free_at_start = gpu_free()) &&
			  !cuMemAlloc(&gpu, ROOM) && (host = malloc(ROOM)) && !pp_cache_create_view(NULL, &views);
	return started;
}

SETUP(everything_is_there)
{
	EXPECT(start(), "no NVMe disk, or no GPU");
	EXPECT(lends_as_it_must(), "the GPU has no struct pages although the kernel supports them");
}

static struct pp_file *open_path(const char *path, int flags)
{
	struct pp_file *file = NULL;
	int fd = open(path, flags, 0600);

	pp_file_open(fd, views, &file);
	close(fd);
	return file;
}

/* Fill the whole buffer with @mark. */
static int mark_gpu(unsigned int mark)
{
	fill(host, ROOM, mark, 0);
	return cuMemcpyHtoD(gpu, host, ROOM);
}

/* ---- every byte ------------------------------------------------------------------ */

static const struct {
	uint64_t offset, length, to;
} moves[] = {
	{ 0, 4096, 0 }, { 0, 1 << 20, 0 }, { 4096, 4096, 4096 }, { 0, 8 << 20, 1 << 20 }, { 512, 512, 0 },
	{ 512, 1024, 512 }, { 0, 1, 0 }, { 0, 511, 0 }, { 0, 513, 0 }, { 1, 4095, 1 }, { 1, 4096, 1 },
	{ 1, 4097, 1 }, { 511, 513, 511 }, { 4095, 8194, 4095 }, { 100, 1000003, 100 }, { 0, 4096, 1 },
	{ 3, 70000, 5 }, { 65535, 131073, 65535 }, { 4096, 3 << 20, 64 }, { 1 << 20, (2 << 20) + 7, 333333 },
};

enum { MOVES = sizeof(moves) / sizeof(moves[0]) };

/* Number of bytes in whole 512-byte blocks at addresses aligned to 4 (NVMe). Does not use the library. */
static uint64_t whole_blocks(uint64_t offset, uint64_t length, uint64_t to)
{
	uint64_t first = (offset + 511) / 512, last = (offset + length) / 512;

	return last > first && (to + first * 512 - offset) % 4 == 0 ? (last - first) * 512 : 0;
}

static void check_way(const struct pp_file_result *r, uint64_t offset, uint64_t length, uint64_t to)
{
	uint64_t direct = lends_pages() ? whole_blocks(offset, length, to) : 0;

	EXPECT(r->direct == direct && r->bounced == length - direct, "%lu of %lu bytes direct, %lu bounced (%s)",
	       r->direct, length, r->bounced, pp_file_strreason(r->reason));
	EXPECT(!r->reason == !r->bounced, "reason %u for %lu bytes", r->reason, r->bounced);
	EXPECT(r->total_ns, "no time");
}

static void read_one(struct pp_file *file, uint64_t offset, uint64_t length, uint64_t to)
{
	struct pp_file_result r;
	size_t bad;

	OK(mark_gpu(BEFORE));
	EXPECT(!pp_file_read(file, at(gpu + to), length, offset, &r), "read of %lu at %lu", length, offset);
	check_way(&r, offset, length, to);
	CHECK_CASE();
	OK(cuMemcpyDtoH(host, gpu, ROOM));
	bad = differs(host, to, BEFORE, 0);
	EXPECT(bad == to, "byte %zu before the range of %lu at %lu", bad, length, to);
	bad = differs(host + to, length, 1, offset);
	EXPECT(bad == length, "byte %zu of %lu, read at %lu to %lu", bad, length, offset, to);
	bad = differs(host + to + length, ROOM - to - length, BEFORE, to + length);
	EXPECT(bad == ROOM - to - length, "byte %zu after the range of %lu at %lu", bad, length, to);
}

static void read_all(const char *path)
{
	struct pp_file *file;
	int i;

	EXPECT(start(), "not started");
	file = open_path(path, O_RDONLY);
	EXPECT(file, "%s: %s", path, strerror(errno));
	for (i = 0; i < MOVES && vmtest_result == VMTEST_OK; i++)
		read_one(file, moves[i].offset, moves[i].length, moves[i].to);
	pp_file_close(file);
}

CASE(reads_of_all_sizes_and_alignments)
{
	read_all(DATA);
}

static int in_file(const char *path, uint64_t offset, size_t length)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = pread(fd, host, length, offset);

	close(fd);
	return n == (ssize_t)length;
}

static int make_file(const char *path, size_t length)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	ssize_t n;

	fill(host, length, BEFORE, 0);
	n = write(fd, host, length);
	close(fd);
	return n == (ssize_t)length;
}

/* Write from GPU memory at @from to the file at @offset, then compare the whole file. */
static void write_one(const char *path, struct pp_file *file, uint64_t offset, uint64_t length, uint64_t from)
{
	struct pp_file_result r;
	size_t bad;

	EXPECT(make_file(path, ROOM), "%s: %s", path, strerror(errno));
	EXPECT(!pp_file_write(file, at(gpu + from), length, offset, &r), "write of %lu at %lu", length, offset);
	check_way(&r, offset, length, from);
	CHECK_CASE();
	EXPECT(in_file(path, 0, ROOM), "%s: %s", path, strerror(errno));
	bad = differs(host, offset, BEFORE, 0);
	EXPECT(bad == offset, "byte %zu before the %lu at %lu", bad, length, offset);
	bad = differs(host + offset, length, WRITTEN, from);
	EXPECT(bad == length, "byte %zu of %lu, written at %lu from %lu", bad, length, offset, from);
	bad = differs(host + offset + length, ROOM - offset - length, BEFORE, offset + length);
	EXPECT(bad == ROOM - offset - length, "byte %zu after the %lu at %lu", bad, length, offset);
}

CASE(writes_of_all_sizes_and_alignments)
{
	static const char path[] = MOUNT "/written";
	struct pp_file *file;
	int i;

	EXPECT(start(), "not started");
	OK(mark_gpu(WRITTEN));
	EXPECT(make_file(path, 1), "%s: %s", path, strerror(errno));
	file = open_path(path, O_RDWR);
	EXPECT(file, "%s: %s", path, strerror(errno));
	for (i = 0; i < MOVES && vmtest_result == VMTEST_OK; i++)
		write_one(path, file, moves[i].offset, moves[i].length, moves[i].to);
	pp_file_close(file);
	unlink(path);
}

/* The CPU window of the GPU is closed, and the page cache has no page of the file. */
CASE(reads_reach_the_gpu_by_dma)
{
	struct pp_file *file;
	struct pp_file_result r;
	int emu = emu_open(), err;

	EXPECT(start(), "not started");
	if (!lends_pages())
		SKIP("this kernel has no PCI_P2PDMA; type: make check KERNEL=7");
	EXPECT(!system("echo 3 >/proc/sys/vm/drop_caches"), "drop_caches");
	file = open_path(DATA, O_RDONLY);
	OK(mark_gpu(BEFORE));
	EXPECT(!emu_cpu_window(emu, 0), "window");
	err = pp_file_read(file, at(gpu), 8 << 20, 4096, &r);
	emu_cpu_window(emu, 1);
	pp_file_close(file);
	close(emu);
	EXPECT(!err && r.direct == 8 << 20 && !r.reason, "%d, %lu direct, %s", err, r.direct, pp_file_strreason(r.reason));
	OK(cuMemcpyDtoH(host, gpu, 8 << 20));
	EXPECT(differs(host, 8 << 20, 1, 4096) == 8 << 20, "wrong data");
}

/* ---- short and sparse files ------------------------------------------------- */

static void read_short(uint64_t size)
{
	static const char path[] = MOUNT "/short";
	struct pp_file_result r;
	struct pp_file *file;
	int err;

	EXPECT(make_file(path, size), "%s", path);
	OK(mark_gpu(WRITTEN));
	file = open_path(path, O_RDONLY);
	err = pp_file_read(file, at(gpu), 1 << 20, 0, &r);
	pp_file_close(file);
	EXPECT(!err && r.direct + r.bounced == size, "%d, %lu + %lu of %lu", err, r.direct, r.bounced, size);
	OK(cuMemcpyDtoH(host, gpu, ROOM));
	EXPECT(differs(host, size, BEFORE, 0) == size, "data of %lu", size);
	EXPECT(differs(host + size, ROOM - size, WRITTEN, size) == ROOM - size,
	       "memory behind %lu bytes changed", size);
}

CASE(short_file_ends_the_read)
{
	static const uint64_t sizes[] = { 0, 1, 511, 512, 513, 4095, 4096, 4097, 70000, 1 << 20 };
	size_t i;

	EXPECT(start(), "not started");
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && vmtest_result == VMTEST_OK; i++)
		read_short(sizes[i]);
}

CASE(hole_in_file_reads_as_zeroes)
{
	static const char path[] = MOUNT "/hole";
	struct pp_file_result r;
	struct pp_file *file;
	size_t i;

	EXPECT(start(), "not started");
	EXPECT(make_file(path, 4096) && !truncate(path, 1 << 20), "%s", path);
	OK(mark_gpu(WRITTEN));
	file = open_path(path, O_RDONLY);
	EXPECT(!pp_file_read(file, at(gpu), 1 << 20, 0, &r), "read");
	pp_file_close(file);
	OK(cuMemcpyDtoH(host, gpu, 1 << 20));
	EXPECT(differs(host, 4096, BEFORE, 0) == 4096, "data");
	for (i = 4096; i < 1 << 20; i++)
		EXPECT(!host[i], "byte %zu is %u", i, host[i]);
}

CASE(full_disk_is_enospc)
{
	static const char path[] = MOUNT "/full";
	struct pp_file_result r = { 0 };
	uint64_t offset = 0;
	struct pp_file *file;
	struct stat st;
	int err = 0;

	EXPECT(start(), "not started");
	OK(mark_gpu(WRITTEN));
	file = open_path(path, O_RDWR | O_CREAT | O_TRUNC);
	while (!err && offset < 256 << 20) {
		err = pp_file_write(file, at(gpu), ROOM, offset, &r);
		offset += r.direct + r.bounced;
	}
	pp_file_close(file);
	EXPECT(err == -ENOSPC, "%d after %lu bytes", err, offset);
	EXPECT(!stat(path, &st) && (uint64_t)st.st_size == offset,
	       "%ld bytes in the file, %lu reported", st.st_size, offset);
	EXPECT(offset >= ROOM && in_file(path, 0, ROOM), "the file is short");
	EXPECT(differs(host, ROOM, WRITTEN, 0) == ROOM, "data");
	unlink(path);
}

/* ---- other kinds of file -------------------------------------------------------------- */

CASE(raw_disk_is_read_directly)
{
	struct pp_file_result r;
	struct pp_file *file;
	int fd = open(DISK, O_RDONLY), err;
	ssize_t n;

	EXPECT(start(), "not started");
	n = pread(fd, host, 4 << 20, 0);
	file = open_path(DISK, O_RDONLY);
	err = pp_file_read(file, at(gpu), 4 << 20, 0, &r);
	pp_file_close(file);
	close(fd);
	EXPECT(n == 4 << 20 && !err, "%zd, %d", n, err);
	EXPECT(r.direct == (lends_pages() ? 4 << 20 : 0), "%lu direct: %s", r.direct, pp_file_strreason(r.reason));
}

CASE(tmpfs_without_direct_io_bounces)
{
	static const char path[] = "/run/in_memory";
	struct pp_file_result r;
	struct pp_file *file;
	int err;

	EXPECT(start(), "not started");
	EXPECT(make_file(path, ROOM), "%s", path);
	file = open_path(path, O_RDONLY);
	err = pp_file_read(file, at(gpu), ROOM, 0, &r);
	pp_file_close(file);
	unlink(path);
	EXPECT(!err && r.bounced == ROOM && r.reason == PP_FILE_NO_DIRECT_IO, "%d, %lu, %s", err, r.bounced,
	       pp_file_strreason(r.reason));
	OK(cuMemcpyDtoH(host, gpu, ROOM));
	EXPECT(differs(host, ROOM, BEFORE, 0) == ROOM, "data");
}

CASE(bounce_reports_its_reason)
{
	struct pp_file_result r;
	struct pp_file *file;

	EXPECT(start(), "not started");
	file = open_path(DATA, O_RDONLY);
	EXPECT(!pp_file_read(file, at(gpu), 1 << 20, 0, &r), "read");
	if (lends_pages())
		EXPECT(!r.reason && !r.bounced, "%s", pp_file_strreason(r.reason));
	else
		EXPECT(r.reason == PP_FILE_NO_VIEW && r.bounced == 1 << 20, "%s", pp_file_strreason(r.reason));
	EXPECT(!pp_file_read(file, at(gpu + 1), 1 << 20, 0, &r), "read");
	EXPECT(r.reason == PP_FILE_UNALIGNED && r.bounced == 1 << 20, "%s", pp_file_strreason(r.reason));
	pp_file_close(file);
	pp_cache_destroy(views);
	views = NULL;
	file = open_path(DATA, O_RDONLY);
	EXPECT(!pp_file_read(file, at(gpu), 1 << 20, 0, &r), "read");
	EXPECT(r.reason == PP_FILE_NO_CACHE && r.bounced == 1 << 20, "%s", pp_file_strreason(r.reason));
	pp_file_close(file);
	pp_cache_create_view(NULL, &views);
}

CASE(reads_into_host_memory_work)
{
	struct pp_file_result r;
	struct pp_file *file;
	size_t to = 4096 - (uintptr_t)host % 4096;

	EXPECT(start(), "not started");
	file = open_path(DATA, O_RDONLY);
	fill(host, ROOM, BEFORE, 0);
	EXPECT(!pp_file_read(file, host + to, 70001, 512, &r), "read");
	pp_file_close(file);
	EXPECT(r.direct == 69632 && r.bounced == 369, "%lu direct, %lu bounced, %s", r.direct, r.bounced,
	       pp_file_strreason(r.reason));
	EXPECT(differs(host + to, 70001, 1, 512) == 70001, "data");
	EXPECT(differs(host + to + 70001, 4096, BEFORE, to + 70001) == 4096, "memory behind the range changed");
}

/* Needs a VM whose kernel allows no P2P DMA between the disk and the GPU. */
CASE_BY_NAME(no_p2pdma_path_bounces)
{
	struct pp_file_result r;
	struct pp_file *file;
	int turn;

	EXPECT(start(), "not started");
	if (!lends_pages())
		SKIP("GPU memory has no struct page: no PCI_P2PDMA in the kernel; type: make check KERNEL=7");
	file = open_path(DATA, O_RDONLY);
	for (turn = 0; turn < 2; turn++) {
		OK(mark_gpu(BEFORE));
		EXPECT(!pp_file_read(file, at(gpu), 1 << 20, 0, &r), "read");
		EXPECT(r.reason == PP_FILE_NO_WAY && r.bounced == 1 << 20, "%s, %lu", pp_file_strreason(r.reason), r.bounced);
		EXPECT((r.error == 0) == turn, "error %d at read %d: the library must try once only", r.error, turn);
		OK(cuMemcpyDtoH(host, gpu, 1 << 20));
		EXPECT(differs(host, 1 << 20, 1, 0) == 1 << 20, "data");
	}
	pp_file_close(file);
}

/* ---- refused calls --------------------------------------------------------------------- */

CASE(bad_memory_is_refused)
{
	struct pp_file *file;
	CUdeviceptr gone;
	int i;

	EXPECT(start(), "not started");
	file = open_path(DATA, O_RDONLY);
	i = pp_file_read(file, at(gpu + ROOM - 4096), 4097, 0, NULL);
	EXPECT(i == -EINVAL, "past the end: %d", i);
	i = pp_file_read(file, at(gpu), 4096, UINT64_MAX - 100, NULL);
	EXPECT(i == -EINVAL, "offset: %d", i);
	OK(cuMemAlloc(&gone, 2 << 20));
	EXPECT(!pp_file_read(file, at(gone), 4096, 0, NULL), "read");
	OK(cuMemFree(gone));
	i = pp_file_read(file, at(gone), 4096, 0, NULL);
	EXPECT(i == -EFAULT, "freed: %d", i);
	i = pp_file_read(file, at(8), 100, 0, NULL);
	EXPECT(i == -EFAULT, "unmapped address: %d", i);
	i = pp_file_write(file, at(gpu), 4096, 0, NULL);
	EXPECT(i == -EBADF, "read-only: %d", i);
	pp_file_close(file);
}

CASE(bad_files_are_einval)
{
	struct pp_file *file;
	int ends[2], i;

	EXPECT(start(), "not started");
	EXPECT(!pipe(ends), "pipe");
	i = pp_file_open(ends[0], views, &file);
	EXPECT(i == -EINVAL, "pipe: %d", i);
	close(ends[0]);
	close(ends[1]);
	i = open(DATA, O_RDWR | O_APPEND);
	EXPECT(pp_file_open(i, views, &file) == -EINVAL, "O_APPEND");
	close(i);
	i = pp_file_open(-1, views, &file);
	EXPECT(i == -EBADF, "descriptor -1: %d", i);
}

static int read_in_child(void *file)
{
	return pp_file_read(file, at(gpu), 4096, 0, NULL) == -EACCES ? 3 : 4;
}

CASE(child_of_fork_is_refused)
{
	struct pp_file *file;
	int status;

	EXPECT(start(), "not started");
	file = open_path(DATA, O_RDONLY);
	EXPECT(!pp_file_read(file, at(gpu), 4096, 0, NULL), "read");
	status = cu_in_child(read_in_child, file);
	pp_file_close(file);
	EXPECT(status == 3 << 8, "status %#x", status);
}

/* ---- several at once ------------------------------------------------------------------------ */

enum { THREADS = 4, SLICE = 1 << 20, TURNS = 8 };

static struct pp_file *shared;
static CUcontext context;

static void *reader(void *arg)
{
	uintptr_t which = (uintptr_t)arg;
	long bad = 0;
	int i;

	cuCtxSetCurrent(context);
	for (i = 0; i < TURNS; i++)
		bad += pp_file_read(shared, at(gpu + which * SLICE), SLICE - which, which * SLICE + i * 512, NULL) != 0;
	return (void *)bad;
}

CASE(threads_share_a_file)
{
	pthread_t threads[THREADS];
	uintptr_t i;
	void *bad;

	EXPECT(start(), "not started");
	cuCtxGetCurrent(&context);
	shared = open_path(DATA, O_RDONLY);
	for (i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&threads[i], NULL, reader, (void *)i), "thread");
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &bad);
		EXPECT(!bad, "%ld reads of thread %lu failed", (long)(intptr_t)bad, i);
	}
	pp_file_close(shared);
	OK(cuMemcpyDtoH(host, gpu, THREADS * SLICE));
	for (i = 0; i < THREADS; i++)
		EXPECT(differs(host + i * SLICE, SLICE - i, 1, i * SLICE + (TURNS - 1) * 512) == SLICE - i, "data of %lu", i);
}

/* ---- nothing is left ---------------------------------------------------------------------------- */

CASE(nothing_is_left)
{
	EXPECT(start(), "not started");
	pp_cache_destroy(views);
	OK(cuMemFree(gpu));
	EXPECT(gpu_free() == free_at_start, "%lu bytes free, and %lu before", gpu_free(), free_at_start);
	EXPECT(!system("umount " MOUNT), "umount");
}

VMTEST_MAIN
