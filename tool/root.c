// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
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

/* ---- where it is unpacked --------------------------------------------------------- */

static struct root *unpacked;

/* What would end the program waits until the directory is gone, which is soon. */
static void hold_signals(sigset_t *before)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	sigset_t held;
	size_t i;

	sigemptyset(&held);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaddset(&held, signals[i]);
	sigprocmask(SIG_BLOCK, &held, before);
}

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
	if (!*root->dir)
		return;
	nftw(root->dir, remove_one, MAX_OPEN, FTW_DEPTH | FTW_PHYS);
	*root->dir = '\0';
	unpacked = NULL;
	sigprocmask(SIG_SETMASK, &root->signals, NULL);
}

/* Of what calls exit(), as where memory runs out */
static void remove_at_exit(void)
{
	if (unpacked)
		remove_dir(unpacked);
}

static bool make_unique(char *dir, size_t size, const char *tmp)
{
	if ((size_t)snprintf(dir, size, "%s/peerpin-root.XXXXXX", tmp) < size)
		return mkdtemp(dir);
	errno = ENAMETOOLONG;
	return false;
}

static int make_dir(struct root *root)
{
	static bool registered;
	const char *tmp = getenv("TMPDIR");

	if (!tmp || !*tmp)
		tmp = "/tmp";
	hold_signals(&root->signals);
	if (!make_unique(root->dir, sizeof(root->dir), tmp)) {
		*root->dir = '\0';
		sigprocmask(SIG_SETMASK, &root->signals, NULL);
		return fail("%s: no directory can be made there: %s; type: TMPDIR=DIRECTORY peerpin ...", tmp,
			    strerror(errno));
	}
	unpacked = root;
	if (!registered)
		registered = !atexit(remove_at_exit);
	return 0;
}

/* ---- opening ---------------------------------------------------------------------- */

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
