// SPDX-License-Identifier: MIT
#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tool.h"
#include "verify_place.h"

static int could_not(const char *format, const char *what)
{
	fail(format, what);
	return EXIT_USAGE;
}

__attribute__((format(printf, 2, 3))) static int join(char *path, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(path, PATH_MAX, format, args);
	va_end(args);
	return length < PATH_MAX ? 0 : could_not("the path %s... is too long; give a shorter one", path);
}

/* This program is build/bin/peerpin there. */
static int root_of_program(struct place *place)
{
	char *slash;
	int i;

	if (!realpath("/proc/self/exe", place->root))
		return could_not("there is no %s", "/proc");
	for (i = 0; i < 3; i++) {
		slash = strrchr(place->root, '/');
		if (slash)
			*slash = '\0';
	}
	return 0;
}

static int root_of_environment(struct place *place, const char *root)
{
	if (realpath(root, place->root))
		return 0;
	return could_not("there is no directory %s; set PEERPIN_ROOT to peerpin's source tree", root);
}

static int find_root(struct place *place)
{
	const char *root = getenv("PEERPIN_ROOT");
	int ret = root ? root_of_environment(place, root) : root_of_program(place);

	if (ret || join(place->run, "%s/emu/vm/run", place->root) ||
	    join(place->guest, "%s/build/judge/guest", place->root))
		return EXIT_USAGE;
	if (access(place->run, X_OK))
		return could_not("there is no %s; set PEERPIN_ROOT to peerpin's source tree", place->run);
	if (access(place->guest, X_OK))
		return could_not("there is no %s; type there: make", place->guest);
	return 0;
}

/* "FILE.ko K=V ..." stays so, with the full path. */
static int find_driver(struct place *place, const char *driver)
{
	const char *end = strstr(driver, ".ko ");
	int length = end ? (int)(end + 3 - driver) : (int)strlen(driver);
	char file[PATH_MAX], full[PATH_MAX];

	if (join(file, "%.*s", length, driver))
		return EXIT_USAGE;
	if (!realpath(file, full) || access(full, R_OK))
		return could_not("there is no driver %s that can be read; build it, and give --driver FILE.ko", file);
	return join(place->driver, "%s%s", full, driver + length);
}

static int find_files(struct place *place, const char *driver, const char *test)
{
	int ret = find_driver(place, driver);

	if (ret)
		return ret;
	if (!realpath(test, place->test) || access(place->test, X_OK))
		return could_not("there is no program %s that can be run; give its path, as in --test ./mytest", test);
	return 0;
}

static int make_dir(struct place *place)
{
	const char *tmp = getenv("TMPDIR");

	if (join(place->dir, "%s/peerpin-verify.XXXXXX", tmp ? tmp : "/tmp"))
		return EXIT_USAGE;
	if (!mkdtemp(place->dir))
		return could_not("could not make the directory %s; set TMPDIR to where there is room", place->dir);
	if (join(place->plan, "%s/plan", place->dir) || join(place->log, "%s/log", place->dir) ||
	    join(place->complaints, "%s/complaints", place->dir))
		return EXIT_USAGE;
	return 0;
}

int place_open(struct place *place, const char *driver, const char *test)
{
	int ret = find_root(place);

	if (!ret)
		ret = find_files(place, driver, test);
	return ret ? ret : make_dir(place);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void place_close(const struct place *place)
{
	nftw(place->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
