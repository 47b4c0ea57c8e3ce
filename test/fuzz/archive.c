// SPDX-License-Identifier: MIT
/*
 * A hostile archive is unpacked or refused. No entry may land outside the directory made for the
 * archive, and no file may stay behind. If the first byte is 'R', the other bytes are the archive.
 * Otherwise each line is an entry: a letter for the type, a path and, after a tab, the contents or
 * the target.
 */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "output.h"
#include "tool/machine/root.h"
#include "target.h"
#include "valid.h"

enum {
	DEPTH = 4,		/* nested directories around the unpacked archive; nothing else may appear in them */
	MAX_LINES = 50,
};

const unsigned int target_forms = 1;
static char around[DEPTH][64];

static void remove_around(void)
{
	int i;

	for (i = DEPTH; i--;)
		rmdir(around[i]);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int i;

	(void)argc;
	(void)argv;
	for (i = 0; i < DEPTH; i++) {
		snprintf(around[i], sizeof(around[i]), "/dev/shm/peerpin-fuzz-%d%.*s", (int)getpid(), 2 * i, "/1/2/3/4");
		if (mkdir(around[i], 0700))
			abort();
	}
	setenv("TMPDIR", around[DEPTH - 1], 1);
	atexit(remove_around);
	return 0;
}

/* ---- an archive -------------------------------------------------------------------- */

static unsigned int mode_of(char letter)
{
	switch (letter) {
	case 'd':
		return AE_IFDIR;
	case 'l':
		return AE_IFLNK;
	case 'p':
		return AE_IFIFO;
	case 'c':
		return AE_IFCHR;
	default:
		return AE_IFREG;
	}
}

/* Types of this function beside those of mode_of(): 'h': a hard link; 'u': an unreadable file. */
static void add(struct archive *tar, char letter, const char *path, const char *data)
{
	struct archive_entry *e = archive_entry_new();
	bool file = mode_of(letter) == AE_IFREG && letter != 'h';

	archive_entry_set_pathname(e, path);
	archive_entry_set_filetype(e, mode_of(letter));
	archive_entry_set_perm(e, letter == 'u' ? 0 : 0644);
	if (letter == 'h')
		archive_entry_set_hardlink(e, data);
	if (letter == 'l')
		archive_entry_set_symlink(e, data);
	archive_entry_set_size(e, file ? (la_int64_t)strlen(data) : 0);
	if (archive_write_header(tar, e) == ARCHIVE_OK && file)
		archive_write_data(tar, data, strlen(data));
	archive_entry_free(e);
}

static void write_lines(int fd, const char *text)
{
	struct archive *tar = archive_write_new();
	char *copy = strdup(text), *rest = copy, *line, *path;
	int n;

	archive_write_set_format_pax_restricted(tar);
	archive_write_open_fd(tar, fd);
	for (n = 0; n < MAX_LINES && (line = strsep(&rest, "\n")); n++) {
		path = strsep(&line, "\t");
		if (*path)
			add(tar, *path, path + 1, line ? line : "");
	}
	archive_write_close(tar);
	archive_write_free(tar);
	free(copy);
}

static int archive_of(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("archive", 0);
	char *text;

	if (fd < 0)
		abort();
	if (*bytes == 'R') {
		must(write(fd, bytes + 1, size - 1) == (ssize_t)size - 1, "there is memory", "archive");
		return fd;
	}
	text = strndup((const char *)bytes, size);
	write_lines(fd, text);
	free(text);
	return fd;
}

/* ---- checks of the result ------------------------------------------------------------- */

static int count(const char *path)
{
	DIR *dir = opendir(path);
	int n = -2;		/* do not count . and .. */

	must(!!dir, "the directory is there", path);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* @inside: the innermost directory must contain the unpacked archive, and nothing else */
static void must_be_alone(bool inside)
{
	int i;

	for (i = 0; i < DEPTH; i++)
		must(count(around[i]) == (inside || i < DEPTH - 1), "nothing is outside, and nothing stays", around[i]);
}

static int nothing(void *arg, const char *name)
{
	(void)arg;
	must(*name && strcmp(name, "..") && !strchr(name, '/'), "a name is a name", name);
	return 0;
}

static void look(int fd)
{
	char path[32];
	struct root root;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (root_open(path, &root)) {
		must_be_alone(false);
		return;
	}
	must_be_alone(true);
	tree_list(root.tree, "", nothing, NULL);
	root_close(&root);
	must_be_alone(false);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct output err;
	int fd;

	if (!size)
		return 0;
	fd = archive_of(bytes, size);
	output_begin(&err, &stderr);
	look(fd);
	output_end(&err);
	if (err.size)
		must_be_plain(err.text);
	free(err.text);
	close(fd);
	return 0;
}
