// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tool/util/grow.h"
#include "tool/util/printable.h"
#include "tool/tool.h"
#include "tree.h"

struct tree {
	int dir;
	bool is_live;
};

/*
 * On the live machine use openat(): links need no limit there, and kernels before 5.6
 * have no openat2().
 */
static int open_in(const struct tree *t, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	if (t->is_live)
		fd = openat(t->dir, path, flags | O_CLOEXEC);
	else
		fd = syscall(SYS_openat2, t->dir, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

/* A captured file without read permission was not readable on its machine, so not even root may read it here. */
static int check(const struct tree *t, int fd, mode_t type)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if ((st.st_mode & S_IFMT) != type)
		return -EINVAL;
	return t->is_live || st.st_mode & 0444 ? 0 : -EACCES;
}

/* Checks the type without opening the file (O_PATH), because opening a device can have side effects. */
static int look_at(const struct tree *t, const char *path)
{
	int fd = open_in(t, path, O_PATH), ret;

	if (fd < 0)
		return fd;
	ret = check(t, fd, S_IFREG);
	close(fd);
	return ret;
}

/* Checks again after open(), and uses O_NONBLOCK, because the file may be replaced after the first check. */
static int open_regular(const struct tree *t, const char *path)
{
	int fd = look_at(t, path), ret;

	if (!fd)
		fd = open_in(t, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fd;
	ret = check(t, fd, S_IFREG);
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

/* Calls read() until the end: some files of the kernel return only a part in each read(). */
static ssize_t read_all(int fd, char *buf, size_t size)
{
	size_t have = 0;
	ssize_t n = 1;

	while (n > 0 && have < size) {
		n = read(fd, buf + have, size - have);
		if (n > 0)
			have += (size_t)n;
	}
	return n < 0 && !have ? -errno : (ssize_t)have;
}

ssize_t tree_read(const struct tree *t, const char *path, void *buf, size_t size)
{
	int fd = open_regular(t, path);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read_all(fd, buf, size - 1);
	close(fd);
	if (n >= 0)
		((char *)buf)[n] = '\0';
	return n;
}

static bool is_clean(const char *name)
{
	char copy[NAME_MAX + 1];

	snprintf(copy, sizeof(copy), "%s", name);
	make_printable(copy);
	return !strcmp(copy, name);
}

int tree_target(const struct tree *t, const char *path, char *buf, size_t size)
{
	int fd = open_in(t, path, O_PATH | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = readlinkat(fd, "", buf, size);
	if (n < 0)
		n = errno == ENOENT ? -EINVAL : -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	if ((size_t)n == size)
		return -ENAMETOOLONG;
	buf[n] = '\0';
	make_printable(buf);
	return 0;
}

int tree_link(const struct tree *t, const char *path, char *buf, size_t size)
{
	char target[4096];
	const char *name;
	int ret = tree_target(t, path, target, sizeof(target));

	if (ret)
		return ret;
	name = strrchr(target, '/');
	name = name ? name + 1 : target;
	if (strlen(name) >= size)
		return -ENAMETOOLONG;
	strcpy(buf, name);
	return 0;
}

bool tree_exists(const struct tree *t, const char *path)
{
	int fd = open_in(t, path, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* ---- directories ---------------------------------------------------------------- */

/** struct names - the names in a directory */
struct names {
	char **at;
	size_t count;
};

static void names_free(struct names *n)
{
	while (n->count)
		free(n->at[--n->count]);
	free(n->at);
}

static int names_add(struct names *n, const char *name)
{
	if (n->count == TREE_MAX_NAMES)
		return -E2BIG;
	n->at = grow(n->at, n->count, sizeof(*n->at));
	n->at[n->count] = strdup(name);
	if (!n->at[n->count])
		return -ENOMEM;
	n->count++;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int names_read(DIR *dir, struct names *n)
{
	struct dirent *entry;
	int ret = 0;

	while (!ret && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && is_clean(entry->d_name))
			ret = names_add(n, entry->d_name);
	if (!ret && n->count)
		qsort(n->at, n->count, sizeof(*n->at), compare);
	return ret;
}

static int open_directory(const struct tree *t, const char *path, DIR **out)
{
	int fd = open_in(t, path, O_RDONLY | O_DIRECTORY), ret;

	if (fd < 0)
		return fd;
	ret = check(t, fd, S_IFDIR);
	if (ret)
		goto err_close;
	*out = fdopendir(fd);
	if (*out)
		return 0;
	ret = -errno;
err_close:
	close(fd);
	return ret;
}

static int names_of(const struct tree *t, const char *path, struct names *n)
{
	int ret;
	DIR *dir;

	ret = open_directory(t, path, &dir);
	if (ret)
		return ret;
	ret = names_read(dir, n);
	closedir(dir);
	return ret;
}

int tree_list(const struct tree *t, const char *path, int (*each)(void *arg, const char *name), void *arg)
{
	struct names names = { 0 };
	int ret = names_of(t, path, &names);
	size_t i;

	for (i = 0; !ret && i < names.count; i++)
		ret = each(arg, names.at[i]);
	names_free(&names);
	return ret;
}

/* ---- the tree ------------------------------------------------------------------- */

/* Fails if the kernel has no openat2(), so that later calls can rely on it. */
static int try_root(const struct tree *t)
{
	int fd = open_in(t, ".", O_PATH);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int tree_open(const char *dir, struct tree **out)
{
	struct tree *t = grow(NULL, 0, sizeof(*t));
	int ret;

	t->is_live = !dir;
	t->dir = open(dir ? dir : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ret = t->dir < 0 ? -errno : try_root(t);
	if (ret)
		tree_close(t);
	else
		*out = t;
	return ret;
}

void tree_close(struct tree *t)
{
	if (!t)
		return;
	if (t->dir >= 0)
		close(t->dir);
	free(t);
}

bool tree_is_live(const struct tree *t)
{
	return t->is_live;
}
