// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gcov.h"

#define GCOV "/sys/kernel/debug/gcov"

enum {
	OPEN_DIRECTORIES = 8,
};

static const char *destination;

/* Read to EOF: debugfs reports a size of 0 for each file. */
static int copy(int from, int to)
{
	char block[65536];
	ssize_t got;

	while ((got = read(from, block, sizeof(block))) > 0)
		if (write(to, block, (size_t)got) != got)
			return -EIO;
	return got ? -errno : 0;
}

static int copy_file(const char *path, const char *copy_of)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);
	int to = open(copy_of, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int ret;

	ret = from < 0 || to < 0 ? -errno : copy(from, to);
	if (from >= 0)
		close(from);
	if (to >= 0 && close(to) && !ret)
		ret = -errno;
	return ret;
}

/* Symbolic links are skipped: they point to the .gcno files, which are on the host. */
static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *rest = path + strlen(GCOV);
	size_t length = strlen(rest);
	char to[4096];

	(void)st;
	(void)ftw;
	snprintf(to, sizeof(to), "%s%s", destination, rest);
	if (type == FTW_D)
		return mkdir(to, 0755) && errno != EEXIST ? -errno : 0;
	if (type != FTW_F || length < 5 || strcmp(rest + length - 5, ".gcda"))
		return 0;
	return copy_file(path, to);
}

int gcov_copy(const char *dir)
{
	int ret;

	destination = dir;
	ret = nftw(GCOV, visit, OPEN_DIRECTORIES, FTW_PHYS);
	return ret == -1 ? -errno : ret;
}
