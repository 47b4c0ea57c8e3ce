// SPDX-License-Identifier: MIT
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tool/util/printable.h"
#include "unpack.h"

/**
 * struct unpacking - the state of one unpack()
 * @file, @signals, @dir: see unpack()
 * @entries: number of entries, including parent directories that unpack() created
 * @why: buffer of @size bytes for the first error
 */
struct unpacking {
	struct archive *archive;
	int file, signals, dir;
	char data[65536];
	size_t entries, bytes;
	char *why;
	size_t size;
};

/* Stores an error, printable: names in the archive may contain escape sequences. */
static bool wrong(struct unpacking *u, const char *what, const char *detail)
{
	snprintf(u->why, u->size, "%s: %s", what, detail);
	make_printable(u->why);
	return false;
}

/* ---- the directory of an entry --------------------------------------------------- */

/*
 * Opens or creates the directory @name in @parent, and closes @parent. Refuses links, so that no step leads out of the
 * directory in which walk() began.
 */
static int step_into(struct unpacking *u, int parent, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, fd = openat(parent, name, flags);

	if (fd < 0 && errno == ENOENT && !mkdirat(parent, name, 0700)) {
		u->entries++;
		fd = openat(parent, name, flags);
	}
	close(parent);
	return fd;
}

static bool is_step(const char *name)
{
	return *name && strcmp(name, ".") && strcmp(name, "..");
}

static int refuse(int fd)
{
	close(fd);
	errno = EINVAL;
	return -1;
}

/* Opens the parent directory of @path below @u->dir, and sets @path to its last component. On error -1 and errno. */
static int walk(struct unpacking *u, char **path)
{
	char *step = strsep(path, "/");
	int fd = dup(u->dir);

	while (fd >= 0 && *path) {
		fd = is_step(step) ? step_into(u, fd, step) : refuse(fd);
		step = strsep(path, "/");
	}
	*path = step;
	return fd >= 0 && !is_step(step) ? refuse(fd) : fd;
}

static const char *why_no_way(int error)
{
	switch (error) {
	case EINVAL:
	case ELOOP:
	case ENOTDIR:
		return "this leads out of the archive, or through a link or file";
	default:
		return strerror(error);
	}
}

/* ---- an entry -------------------------------------------------------------------- */

/* Writes all of @data: after a short write the next write() returns the error. */
static bool write_all(int fd, const char *data, size_t size)
{
	ssize_t n;

	while (size) {
		n = write(fd, data, size);
		if (n < 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static bool write_data(struct unpacking *u, int fd, const char *name)
{
	char buf[16384];
	la_ssize_t n = archive_read_data(u->archive, buf, sizeof(buf));

	while (n > 0) {
		u->bytes += (size_t)n;
		if (u->bytes > UNPACK_MAX_BYTES)
			return wrong(u, name, "the archive is too large for a captured machine");
		if (!write_all(fd, buf, (size_t)n))
			return wrong(u, name, strerror(errno));
		n = archive_read_data(u->archive, buf, sizeof(buf));
	}
	return n ? wrong(u, name, "the archive is damaged") : true;
}

/* A file with mode 0 in the archive was not readable on its machine, and stays unreadable: see tree.h. */
static bool make_file(struct unpacking *u, struct archive_entry *e, int parent, const char *name)
{
	int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool ok;

	if (fd < 0)
		return wrong(u, name, strerror(errno));
	ok = write_data(u, fd, name);
	if (ok && !(archive_entry_perm(e) & 0444) && fchmod(fd, 0))
		ok = wrong(u, name, strerror(errno));
	close(fd);
	return ok;
}

static bool make_dir(struct unpacking *u, int parent, const char *name)
{
	if (mkdirat(parent, name, 0700) && errno != EEXIST)
		return wrong(u, name, strerror(errno));
	return true;
}

static bool make_link(struct unpacking *u, struct archive_entry *e, int parent, const char *name)
{
	const char *target = archive_entry_symlink(e);

	if (!target || !*target || strlen(target) > UNPACK_MAX_PATH)
		return wrong(u, name, "a link to nowhere");
	if (symlinkat(target, parent, name))
		return wrong(u, name, strerror(errno));
	return true;
}

static bool make(struct unpacking *u, struct archive_entry *e, int parent, const char *name)
{
	if (archive_entry_hardlink(e))
		return wrong(u, name, "a hard link, which no captured machine has");
	switch (archive_entry_filetype(e)) {
	case AE_IFREG:
		return make_file(u, e, parent, name);
	case AE_IFDIR:
		return make_dir(u, parent, name);
	case AE_IFLNK:
		return make_link(u, e, parent, name);
	default:
		return wrong(u, name, "neither file, directory nor link");
	}
}

static bool is_too_deep(const char *path)
{
	unsigned int depth;

	for (depth = 0; path && depth < UNPACK_MAX_DEPTH; depth++) {
		path = strchr(path, '/');
		if (path)
			path++;
	}
	return path;
}

/* Removes the "./" before a name and the "/" after it, which tar adds. False: the name is too long or too deep. */
static bool tidy(const char *path, char *out)
{
	size_t length;

	while (!strncmp(path, "./", 2))
		path += 2;
	length = strlen(path);
	if (length >= UNPACK_MAX_PATH)
		return false;
	memcpy(out, path, length + 1);
	if (length && out[length - 1] == '/')
		out[length - 1] = '\0';
	return !is_too_deep(out);
}

static bool unpack_entry(struct unpacking *u, struct archive_entry *e)
{
	const char *path = archive_entry_pathname(e);
	char name[UNPACK_MAX_PATH], *rest = name;
	int parent;
	bool ok;

	if (!path || !tidy(path, name))
		return wrong(u, "a name in it", "too long, too deep, or none");
	if (!*name || !strcmp(name, "."))
		return true;
	parent = walk(u, &rest);
	if (parent < 0)
		return wrong(u, path, why_no_way(errno));
	ok = make(u, e, parent, rest);
	close(parent);
	return ok;
}

static bool unpack_all(struct unpacking *u)
{
	struct archive_entry *e;
	int ret = archive_read_next_header(u->archive, &e);

	while (ret == ARCHIVE_OK || ret == ARCHIVE_WARN) {
		if (++u->entries > UNPACK_MAX_ENTRIES)
			return wrong(u, "the archive", "it has too many files for a captured machine");
		if (!unpack_entry(u, e))
			return false;
		ret = archive_read_next_header(u->archive, &e);
	}
	return ret == ARCHIVE_EOF ? true : wrong(u, "the archive", archive_error_string(u->archive));
}

/* Waits for data of a pipe or slow disk, which may take long. False: a signal arrived. */
static bool await_data(const struct unpacking *u)
{
	struct pollfd fds[] = { { .fd = u->file, .events = POLLIN }, { .fd = u->signals, .events = POLLIN } };

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	return !fds[1].revents;
}

static la_ssize_t read_more(struct archive *a, void *arg, const void **out)
{
	struct unpacking *u = arg;
	ssize_t n = -1;

	*out = u->data;
	errno = EINTR;
	if (await_data(u))
		n = read(u->file, u->data, sizeof(u->data));
	if (n < 0)
		archive_set_error(a, errno, "%s", strerror(errno));
	return n;
}

bool unpack(int file, int signals, int dir, char *why, size_t size)
{
	struct unpacking u = {
		.archive = archive_read_new(), .file = file, .signals = signals, .dir = dir, .why = why, .size = size,
	};
	bool ok = u.archive;

	if (!ok)
		return wrong(&u, "the archive", strerror(ENOMEM));
	archive_read_support_filter_gzip(u.archive);
	archive_read_support_format_tar(u.archive);
	if (archive_read_open(u.archive, &u, NULL, read_more, NULL))
		ok = wrong(&u, "the archive", archive_error_string(u.archive));
	else
		ok = unpack_all(&u);
	archive_read_free(u.archive);
	return ok;
}
