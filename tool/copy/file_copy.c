// SPDX-License-Identifier: MIT
/* peerpin copy with a file: by the disk's DMA, or through host memory, with a warning. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "file_copy.h"
#include "file_result.h"
#include "gpu.h"
#include "pattern.h"
#include "surface.h"
#include "tool/tool.h"

enum {
	ZONE = 64 << 10,
	CHUNK = 1 << 20,
};

/**
 * struct session - the open objects of peerpin copy with a file
 * @args: the arguments; the size is filled in if it was not given
 * @made: the session created the file and has written nothing to it yet: close_all() removes the file
 */
struct session {
	struct copy_args args;
	int fd;
	bool made;
	struct pp_cache *views;
	struct pp_file *file;
	struct surface gpu;
};

/* ---- the file ---------------------------------------------------------------- */

static int no_file(const char *path, int error)
{
	switch (error) {
	case EEXIST:
		return fail("%s exists; give --overwrite, or another name", path);
	case ENOENT:
		return fail("there is no file %s; give another", path);
	case EACCES:
		return fail("no permission to open %s; type: sudo peerpin ...", path);
	default:
		return fail("%s cannot be opened: %s; give another", path, strerror(error));
	}
}

/* Opens the file without O_TRUNC: bytes after the copy are kept, and the target may be a disk. */
static int open_file(struct session *s)
{
	const struct copy_args *args = &s->args;
	int flags = O_RDONLY;

	if (args->to == SIDE_FILE)
		flags = O_RDWR | O_CREAT | (args->overwrite ? 0 : O_EXCL);
	/* O_NONBLOCK: open() of a FIFO would wait for the other end; a FIFO is refused later */
	s->fd = open(args->path, flags | O_NONBLOCK | O_CLOEXEC, 0666);
	if (s->fd < 0)
		return no_file(args->path, errno);
	fcntl(s->fd, F_SETFL, 0);
	s->made = args->to == SIDE_FILE && !args->overwrite;
	return 0;
}

static int find_size(struct session *s)
{
	off_t size = lseek(s->fd, 0, SEEK_END);

	if (size < 0)
		return fail("%s has no size: %s; give a regular file or a disk", s->args.path, strerror(errno));
	if (!size || (uint64_t)size < s->args.size)
		return fail("%s has only %lld bytes; give a smaller --size, or another file", s->args.path, (long long)size);
	if (!s->args.size)
		s->args.size = size;
	return 0;
}

/* ---- the session ----------------------------------------------------------------- */

/* If GPU memory cannot be exported, there are no views. The copy then goes through host memory, with a warning. */
static int open_views(struct session *s)
{
	int ret = pp_cache_create_view(NULL, &s->views);

	if (!ret)
		ret = pp_file_open(s->fd, s->views, &s->file);
	if (ret)
		return fail("%s cannot be copied: %s; give a regular file or a disk", s->args.path, strerror(-ret));
	return 0;
}

static int alloc(struct session *s)
{
	int ret = surfaces_fit(&s->args);

	if (ret)
		return ret;
	return surface_alloc(&s->gpu, SIDE_GPU, s->args.size, s->args.verify ? ZONE : 0,
			     s->args.to == SIDE_GPU ? "destination" : "source");
}

static int open_all(struct session *s)
{
	int ret = open_file(s);

	if (!ret && s->args.from == SIDE_FILE)
		ret = find_size(s);
	if (!ret)
		ret = gpu_open();
	if (!ret)
		ret = open_views(s);
	return ret ? ret : alloc(s);
}

static void close_all(struct session *s)
{
	pp_file_close(s->file);
	pp_cache_destroy(s->views);
	surface_free(&s->gpu);
	if (s->fd >= 0)
		close(s->fd);
	if (s->made)
		unlink(s->args.path);
}

/* ---- copies ------------------------------------------------------------------------ */

static int failed(const struct session *s, int error)
{
	switch (error) {
	case -ENOSPC:
		return fail("%s: its disk is full; give a smaller --size, or another file", s->args.path);
	case -EIO:
	case -ENODEV:
		return fail("%s: its disk, or the GPU, failed or was removed; see the kernel's log: dmesg", s->args.path);
	default:
		return fail("%s: the copy failed: %s; see the kernel's log: dmesg", s->args.path, strerror(-error));
	}
}

static int copy_once(struct session *s, struct pp_file_result *result)
{
	const struct copy_args *args = &s->args;
	void *gpu = surface_data(&s->gpu);
	int ret = args->to == SIDE_GPU ? pp_file_read(s->file, gpu, args->size, 0, result) :
					 pp_file_write(s->file, gpu, args->size, 0, result);

	s->made &= !(result->direct + result->bounced);
	if (ret)
		return failed(s, ret);
	if (result->direct + result->bounced < args->size)
		return fail("%s became shorter during the copy; type the command again", args->path);
	return 0;
}

/* Reads the file with pread(), and compares it with the GPU memory. */
static int compare(struct session *s)
{
	static unsigned char data[CHUNK];
	uint64_t done = 0;

	while (done < s->args.size) {
		size_t want = s->args.size - done < CHUNK ? s->args.size - done : CHUNK;
		ssize_t n = pread(s->fd, data, want, done);

		if (n <= 0)
			return fail("%s cannot be read back: %s; see the kernel's log: dmesg", s->args.path,
				    n ? strerror(errno) : "it became shorter");
		if (surface_compare(&s->gpu, done, data, n))
			return EXIT_FAILED;
		done += n;
	}
	return 0;
}

/* Each copy uses new patterns, so data of an earlier copy does not pass the check. */
static int copy_verified(struct session *s, struct pp_file_result *result)
{
	uint64_t data = pattern_seed(), zone = pattern_other(data, 0);
	int ret = surface_fill(&s->gpu, data, zone);

	if (!ret)
		ret = copy_once(s, result);
	if (!ret && s->args.from == SIDE_GPU)
		ret = surface_check(&s->gpu, data, zone);
	if (!ret)
		ret = compare(s);
	return ret ? ret : surface_check_zones(&s->gpu, zone);
}

static int copy_all(struct session *s, struct pp_file_result *results)
{
	uint64_t i;
	int ret = 0;

	for (i = 0; i < s->args.repeat && !ret; i++)
		ret = s->args.verify ? copy_verified(s, &results[i]) : copy_once(s, &results[i]);
	return ret;
}

/* fsync() fails with EINVAL or EROFS for a file that is not on a disk: this is no error. */
static int sync_file(const struct session *s)
{
	return fsync(s->fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
}

/* Writes the data to the disk and closes the file: only fsync() and close() report some errors of disks and servers. */
static int finish_file(struct session *s)
{
	int ret;

	if (s->args.to != SIDE_FILE)
		return 0;
	ret = sync_file(s);
	if (close(s->fd) && !ret)
		ret = -errno;
	s->fd = -1;
	return ret ? failed(s, ret) : 0;
}

static void warn_of_first_bounce(const struct pp_file_result *results, uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count && !results[i].bounced; i++)
		;
	if (i < count)
		warn_of_bounce(&results[i]);
}

static int run(const struct copy_args *args, struct pp_file_result *results)
{
	struct session s = { .args = *args, .fd = -1 };
	int ret = open_all(&s);

	if (!ret)
		ret = copy_all(&s, results);
	if (!ret)
		ret = finish_file(&s);
	if (!ret) {
		warn_of_first_bounce(results, args->repeat);
		print_file_results(&s.args, results);
	}
	close_all(&s);
	return ret;
}

int file_copy(const struct copy_args *args)
{
	struct pp_file_result *results = calloc(args->repeat, sizeof(*results));
	int ret;

	if (!results) {
		fail("no memory for the results; give a smaller --repeat");
		return EXIT_USAGE;
	}
	ret = run(args, results);
	free(results);
	return ret;
}
