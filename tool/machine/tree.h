/* SPDX-License-Identifier: MIT */
/*
 * The files that tell what a machine is: this machine's, or another's that were
 * copied below a directory.
 *
 * Paths have no leading slash: "sys/bus/pci/devices". Another machine's files
 * may be hostile. Links lead nowhere outside its directory, only regular files
 * are opened, and nothing blocks.
 *
 * Errors are -ENOENT where there is no such file, and -EACCES or -EPERM where
 * only root could see: that is an answer of its own. Of another machine, a file
 * or directory with no permission to read for anybody stands for one that could
 * not be read there.
 */
#ifndef TREE_H
#define TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tree;

/**
 * tree_open - start to read a machine's files
 * @dir: where they are, NULL for this machine
 *
 * 0 or -errno; -ENOSYS when @dir is given and the kernel is older than 5.6.
 */
int tree_open(const char *dir, struct tree **out);

/* NULL is fine. */
void tree_close(struct tree *t);

/* Is it this machine, whose state can change while one looks? */
bool tree_is_live(const struct tree *t);

/* At most @size - 1 bytes, and a 0 behind them. Their number, or -errno; -EINVAL: no regular file. */
ssize_t tree_read(const struct tree *t, const char *path, void *buf, size_t size);

/* The first line without its end; what cannot be printed is '?'. 0 or -errno; -ENODATA when the file is empty. */
int tree_line(const struct tree *t, const char *path, char *buf, size_t size);

/* A number, decimal or with 0x. 0 or -errno; -EINVAL when it is none. */
int tree_u64(const struct tree *t, const char *path, uint64_t *out);

/* The same with a sign, decimal. */
int tree_int(const struct tree *t, const char *path, int *out);

/* Where a link points to, as it is written in it, printable. 0 or -errno; -EINVAL: no link. */
int tree_target(const struct tree *t, const char *path, char *buf, size_t size);

/* The last component of that. 0 or -errno. */
int tree_link(const struct tree *t, const char *path, char *buf, size_t size);

/* A directory as well; false where it could not be seen. */
bool tree_exists(const struct tree *t, const char *path);

/**
 * tree_list - call @each for the names in a directory, sorted, but not for hidden or unprintable ones
 *
 * Ends with the first result of @each that is not 0. That, 0 or -errno; -E2BIG,
 * with none called, when there are more than TREE_MAX_NAMES.
 */
int tree_list(const struct tree *t, const char *path, int (*each)(void *arg, const char *name), void *arg);

enum {
	TREE_MAX_NAMES = 65536,
};

/** struct tree_path - a path made of parts, returned by value; empty, so that no file has it, if it got too long */
struct tree_path {
	char at[256];
};

struct tree_path tree_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
