// SPDX-License-Identifier: MIT
/*
 * A file to GPU memory and back: by the disk's DMA, and through host memory. The file has no name, is of the largest
 * size that is measured, and is at most a quarter of the free room of its disk. All operations share the file, because
 * filling it takes seconds. Before a read the kernel's copy of the file is dropped, and a write ends when the disk has
 * the data, so that each way of copying uses the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "memory.h"
#include "tool/util/units.h"

enum {
	TO_FILE = 1,
	DIRECT = 2,
	HOST = 4,
	CHUNK = 1 << 20,
};

static struct {
	int fd;
	uint64_t size;
	struct pp_cache *views;
	struct pp_file *file;
	struct perf_memory memory;
} stored = { .fd = -1 };

/* ---- the file ------------------------------------------------------------------------------ */

static const char *dir_of(const struct perf_args *args)
{
	const char *tmp = getenv("TMPDIR");

	if (args->dir)
		return args->dir;
	return tmp && *tmp ? tmp : "/var/tmp";
}

static int make_file(const char *dir, struct perf_why *why)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/peerpin-perf.XXXXXX", dir) >= (int)sizeof(path))
		return perf_refuse_call(why, dir, ENAMETOOLONG);
	stored.fd = mkostemp(path, O_CLOEXEC);
	if (stored.fd < 0)
		return perf_refuse(why, "no file can be made in %s: %s; give another: --dir DIR", dir, strerror(errno));
	unlink(path);
	return 0;
}

static uint64_t room_for(uint64_t bytes)
{
	struct statvfs s;
	uint64_t room;

	if (fstatvfs(stored.fd, &s))
		return bytes;
	room = (uint64_t)s.f_bavail * s.f_frsize / 4;
	return bytes < room ? bytes : room;
}

/* Blocks without data would be read without the disk. */
static int fill_file(uint64_t bytes, struct perf_why *why)
{
	static char chunk[CHUNK];
	uint64_t done;
	ssize_t n;

	memset(chunk, 0x5a, sizeof(chunk));
	for (done = 0; done < bytes; done += (uint64_t)n) {
		n = pwrite(stored.fd, chunk, bytes - done < CHUNK ? bytes - done : CHUNK, (off_t)done);
		if (n <= 0)
			return perf_refuse_call(why, "writing the file", errno);
	}
	stored.size = bytes;
	fdatasync(stored.fd);
	return 0;
}

static int need_file(const struct perf_args *args, struct perf_why *why)
{
	if (stored.fd >= 0)
		return 0;
	if (make_file(dir_of(args), why))
		return -1;
	if (!fill_file(room_for(args->sizes[args->nr_sizes - 1]), why))
		return 0;
	close(stored.fd);
	stored.fd = -1;
	return -1;
}

static int open_file(const struct perf_args *args, long arg, struct perf_why *why)
{
	int ret = 0;

	if ((!(arg & HOST) && perf_need_gpu(why)) || need_file(args, why))
		return -1;
	if (arg & DIRECT)
		ret = pp_cache_create_view(NULL, &stored.views);
	if (ret)
		return perf_refuse_call(why, "pp_cache_create_view", ret);
	ret = pp_file_open(stored.fd, stored.views, &stored.file);
	return ret ? perf_refuse_call(why, "pp_file_open", ret) : 0;
}

static void close_file(long arg)
{
	(void)arg;
	pp_file_close(stored.file);
	pp_cache_destroy(stored.views);
	stored.file = NULL;
	stored.views = NULL;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static int begin(uint64_t bytes, long arg, struct perf_why *why)
{
	if (bytes > stored.size)
		return perf_refuse(why, "the disk has room for a file of %s; give another: --dir DIR",
				   text_bytes(stored.size).at);
	return memory_get(&stored.memory, arg & HOST ? PERF_HOST : PERF_GPU, bytes, why);
}

static void end(long arg)
{
	(void)arg;
	if (stored.views)
		pp_cache_flush(stored.views);
	memory_put(&stored.memory);
}

/* The length 0 means the whole file. With another length, the kernel keeps a page that is covered only in part. */
static int drop_pages(uint64_t bytes, long arg, struct perf_why *why)
{
	(void)bytes, (void)arg, (void)why;
	posix_fadvise(stored.fd, 0, 0, POSIX_FADV_DONTNEED);
	return 0;
}

/* A direct copy of which a part went through host memory is not measured. */
static int copy_file(uint64_t bytes, long arg, struct perf_why *why)
{
	struct pp_file_result result = { 0 };
	void *at = memory_at(&stored.memory);
	int ret = arg & TO_FILE ? pp_file_write(stored.file, at, bytes, 0, &result) :
				  pp_file_read(stored.file, at, bytes, 0, &result);

	if (!ret && arg & TO_FILE && fdatasync(stored.fd))
		ret = -errno;
	if (ret)
		return perf_refuse_call(why, "the copy", ret);
	if (!(arg & DIRECT) || !result.bounced)
		return 0;
	if (result.reason == PP_FILE_EDGES || result.reason == PP_FILE_UNALIGNED)
		return perf_skip(why, "%s", pp_file_strreason(result.reason));
	return perf_refuse(why, "%s", pp_file_strreason(result.reason));
}

static const struct perf_calls file_calls = {
	.open = open_file, .begin = begin, .before = drop_pages, .run = copy_file, .end = end, .close = close_file,
};

const struct perf_op file_ops[] = {
	{ "file_host", "file", "file to host", NULL, true, &file_calls, HOST },
	{ "file_bounced", "file", "file to GPU, through host memory", "file_host", true, &file_calls, 0 },
	{ "file_direct", "file", "file to GPU, direct", "file_bounced", true, &file_calls, DIRECT },
	{ "host_file", "file", "host to file", NULL, true, &file_calls, TO_FILE | HOST },
	{ "gpu_file_bounced", "file", "GPU to file, through host memory", "host_file", true, &file_calls, TO_FILE },
	{ "gpu_file_direct", "file", "GPU to file, direct", "gpu_file_bounced", true, &file_calls, TO_FILE | DIRECT },
	{ 0 },
};
