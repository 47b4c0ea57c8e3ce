// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tool/util/ending.h"
#include "root.h"
#include "tool/tool.h"
#include "unpack.h"

enum {
	MAX_OPEN = 16,
};

/* ---- the temporary directory ------------------------------------------------------ */

static struct root *unpacked;

/* The set of signals that would end the program and are not in @blocked */
static sigset_t unblocked_ending_signals(const sigset_t *blocked)
{
	sigset_t set = ending_signals();
	int signo;

	for (signo = 1; signo < NSIG; signo++)
		if (sigismember(blocked, signo))
			sigdelset(&set, signo);
	return set;
}

/*
 * Blocks the signals that would end the program until remove_dir(), so that the temporary directory never stays behind.
 * A blocked signal is not delayed for long: unpack() watches a signalfd and stops early.
 */
static void hold_signals(sigset_t *before)
{
	sigset_t held;

	sigprocmask(SIG_BLOCK, NULL, before);
	held = unblocked_ending_signals(before);
	sigprocmask(SIG_BLOCK, &held, NULL);
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

/* Removes the directory if other code calls exit(), such as no_memory(). */
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

static bool unpack_into(int file, const struct root *root, char *why, size_t size)
{
	sigset_t held = unblocked_ending_signals(&root->signals);
	int dir = open(root->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), signals = signalfd(-1, &held, SFD_CLOEXEC);
	bool ok = dir >= 0 && signals >= 0;

	if (ok)
		ok = unpack(file, signals, dir, why, size);
	else
		snprintf(why, size, "%s", strerror(errno));
	close(signals);
	close(dir);
	return ok;
}

/* If a signal stopped unpack_into(), remove_dir() unblocks the signal, and the program ends without a message. */
static int unpack_file(int file, const char *name, struct root *root)
{
	char why[1200];

	if (unpack_into(file, root, why, sizeof(why)))
		return 0;
	remove_dir(root);
	return fail("%s cannot be unpacked: %s; captures are made by: peerpin doctor --capture FILE.tar", name, why);
}

static int open_dir(const char *dir, struct root *root)
{
	int ret = tree_open(dir, &root->tree);

	if (ret == -ENOSYS)
		return fail("--root needs Linux 5.6 or newer");
	return ret ? fail("%s: %s", dir ? dir : "/", strerror(-ret)) : 0;
}

static int open_unpacked(int file, const char *name, struct root *root)
{
	int ret = make_dir(root);

	if (!ret)
		ret = unpack_file(file, name, root);
	if (!ret)
		ret = open_dir(root->dir, root);
	if (ret)
		remove_dir(root);
	return ret;
}

/* open() of a FIFO may wait long. So open the file before signals are blocked for the temporary directory. */
static int open_file(const char *name, struct root *root)
{
	int file = open(name, O_RDONLY | O_CLOEXEC), ret;

	if (file < 0)
		return fail("--root %s: %s", name, strerror(errno));
	ret = open_unpacked(file, name, root);
	close(file);
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
