// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "root.h"
#include "tool.h"
#include "unpack.h"

enum {
	MAX_OPEN = 16,
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	remove(path);
	return 0;
}

static void remove_dir(struct root *root)
{
	if (*root->dir)
		nftw(root->dir, remove_one, MAX_OPEN, FTW_DEPTH | FTW_PHYS);
	*root->dir = '\0';
}

static int make_dir(struct root *root)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(root->dir, sizeof(root->dir), "%s/peerpin-root.XXXXXX", tmp && *tmp ? tmp : "/tmp");

	if (n < (int)sizeof(root->dir) && mkdtemp(root->dir))
		return 0;
	*root->dir = '\0';
	return fail("%s: no directory can be made there: %s; type: TMPDIR=DIRECTORY peerpin ...",
		    tmp && *tmp ? tmp : "/tmp", strerror(errno));
}

static int unpack_file(const char *file, struct root *root)
{
	int dir = open(root->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char why[1200];
	bool ok;

	if (dir < 0)
		return fail("%s: %s", root->dir, strerror(errno));
	ok = unpack(file, dir, why, sizeof(why));
	close(dir);
	return ok ? 0 : fail("%s cannot be unpacked: %s; captures are made by: peerpin doctor --capture FILE.tar",
			     file, why);
}

static int open_dir(const char *dir, struct root *root)
{
	int ret = tree_open(dir, &root->tree);

	if (ret == -ENOSYS)
		return fail("--root needs Linux 5.6 or newer");
	return ret ? fail("%s: %s", dir ? dir : "/", strerror(-ret)) : 0;
}

static int open_file(const char *file, struct root *root)
{
	int ret = make_dir(root);

	if (!ret)
		ret = unpack_file(file, root);
	if (!ret)
		ret = open_dir(root->dir, root);
	if (ret)
		remove_dir(root);
	return ret;
}

int root_open(const char *arg, struct root *out)
{
	struct stat st;

	*out = (struct root){ 0 };
	if (arg && stat(arg, &st))
		return fail("--root %s: %s", arg, strerror(errno));
	return arg && !S_ISDIR(st.st_mode) ? open_file(arg, out) : open_dir(arg, out);
}

void root_close(struct root *root)
{
	tree_close(root->tree);
	root->tree = NULL;
	remove_dir(root);
}
