// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tool/tool.h"
#include "place.h"

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

/* Sets @path, of PATH_MAX bytes, to the directory @up levels above the directory of this program. */
static int above_program(char *path, int up)
{
	char *slash;

	if (!realpath("/proc/self/exe", path))
		return could_not("there is no %s", "/proc");
	for (; up >= 0; up--) {
		slash = strrchr(path, '/');
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

/* "peerpin-emu build" reports its progress (fetching a kernel, building modules) on stderr. */
static void become_builder(const char *program, const char *kernel, int out)
{
	if (out == STDOUT_FILENO)
		fcntl(out, F_SETFD, 0);
	else
		dup2(out, STDOUT_FILENO);
	execl(program, program, "build", kernel, NULL);
	fail("%s cannot be run: %s", program, strerror(errno));
	_exit(127);
}

/* peerpin-emu prints the line PEERPIN_ROOT=DIR after the build; it is the first line of output. */
static int read_root(struct place *place, int in)
{
	static const char name[] = "PEERPIN_ROOT=";
	char line[PATH_MAX + sizeof(name)] = "";
	FILE *file = fdopen(in, "r");
	bool good;

	if (!file) {
		close(in);
		return could_not("could not read from a pipe: %s", strerror(errno));
	}
	good = fgets(line, sizeof(line), file) && !strncmp(line, name, strlen(name));
	line[strcspn(line, "\n")] = '\0';
	while (getc(file) != EOF)
		;
	fclose(file);
	return good ? join(place->root, "%s", line + strlen(name)) : EXIT_USAGE;
}

static int root_of_builder(struct place *place, const char *program, const char *kernel)
{
	int ends[2], status = -1, ret;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return could_not("no pipe could be made: %s", strerror(errno));
	pid = fork();
	if (!pid)
		become_builder(program, kernel, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return could_not("no process could be started: %s", strerror(errno));
	}
	ret = read_root(place, ends[0]);
	if (waitpid(pid, &status, 0) < 0 || status || ret)
		return could_not("%s build failed; see its messages above", program);
	return 0;
}

/* In an installation, peerpin-emu is in the directory of this program, and builds a tree. */
static int root_of_emulator(struct place *place, const char *kernel)
{
	char dir[PATH_MAX], program[PATH_MAX];

	if (above_program(dir, 0) || join(program, "%s/peerpin-emu", dir))
		return EXIT_USAGE;
	if (access(program, X_OK))
		return could_not("there is no %s; install peerpin-emu, or set PEERPIN_ROOT to peerpin's source tree",
				 program);
	return root_of_builder(place, program, kernel);
}

/* In a source tree this program is build/bin/peerpin. */
static int root_of_program(struct place *place, const char *kernel)
{
	char run[PATH_MAX];

	if (above_program(place->root, 2) || join(run, "%s/emu/vm/run", place->root))
		return EXIT_USAGE;
	return access(run, X_OK) ? root_of_emulator(place, kernel) : 0;
}

static int find_root(struct place *place, const char *kernel)
{
	const char *root = getenv("PEERPIN_ROOT");
	int ret = root ? root_of_environment(place, root) : root_of_program(place, kernel);

	if (ret || join(place->run, "%s/emu/vm/run", place->root) ||
	    join(place->adapter, "%s/emu/vm/adapter", place->root) ||
	    join(place->guest, "%s/build/judge/guest", place->root))
		return EXIT_USAGE;
	if (access(place->run, X_OK))
		return could_not("there is no %s; set PEERPIN_ROOT to peerpin's source tree", place->run);
	if (access(place->guest, X_OK))
		return could_not("there is no %s; type make in that source tree", place->guest);
	return 0;
}

/* Replaces FILE.ko in "FILE.ko K=V ..." by its full path; keeps the parameters. */
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

	if (join(place->dir, "%s/peerpin-verify.XXXXXX", tmp && *tmp ? tmp : "/tmp"))
		return EXIT_USAGE;
	if (!mkdtemp(place->dir))
		return could_not("could not make the directory %s; set TMPDIR to where there is room", place->dir);
	if (join(place->log, "%s/log", place->dir) || join(place->complaints, "%s/complaints", place->dir))
		return EXIT_USAGE;
	return 0;
}

int place_open(struct place *place, const struct verify_args *args)
{
	int ret = find_files(place, args->driver, args->test);

	if (!ret)
		ret = find_root(place, args->kernel);
	return ret ? ret : make_dir(place);
}

int place_share(struct place *place)
{
	if (join(place->shared, "%s/shared.XXXXXX", place->dir))
		return EXIT_USAGE;
	if (!mkdtemp(place->shared))
		return could_not("could not make the directory %s; set TMPDIR to where there is room", place->shared);
	return join(place->plan, "%s/plan", place->shared);
}

/* Ignores errors, so that nftw() continues with the other entries. */
static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

void place_close(const struct place *place)
{
	nftw(place->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
