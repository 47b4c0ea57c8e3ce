/* SPDX-License-Identifier: MIT */
/*
 * The files that describe a machine: this machine's, or files copied from another machine
 * into a directory.
 *
 * Paths have no leading slash: "sys/bus/pci/devices". Another machine's files are
 * untrusted: links never lead out of its directory, only regular files are opened, and
 * no call blocks.
 *
 * -ENOENT: the file does not exist. -EACCES or -EPERM: only root may read it; callers
 * report that case separately. In another machine's tree, a file or directory without any
 * read permission stands for one that could not be read there: -EACCES even for root.
 */
#ifndef TREE_H
#define TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tree;

/**
 * tree_open - open the files of a machine
 * @dir: their directory, NULL for this machine
 *
 * Returns 0 or -errno; -ENOSYS if @dir is given and the kernel is older than 5.6.
 */
int tree_open(const char *dir, struct tree **out);

/* @t may be NULL. */
void tree_close(struct tree *t);

/* Is it this machine? Its files can change between two calls. */
bool tree_is_live(const struct tree *t);

/* Reads at most @size - 1 bytes and appends a 0. Returns their number, or -errno; -EINVAL: not a regular file. */
ssize_t tree_read(const struct tree *t, const char *path, void *buf, size_t size);

/* The first line without its newline; '?' replaces unprintable bytes. 0 or -errno; -ENODATA if the file is empty. */
int tree_line(const struct tree *t, const char *path, char *buf, size_t size);

/* A number, decimal or with 0x. 0 or -errno; -EINVAL: not a number. */
int tree_u64(const struct tree *t, const char *path, uint64_t *out);

/* The same, decimal, with an optional sign. */
int tree_int(const struct tree *t, const char *path, int *out);

/* The target of a link, unresolved, made printable. 0 or -errno; -EINVAL: not a link. */
int tree_target(const struct tree *t, const char *path, char *buf, size_t size);

/* The last component of the target. 0 or -errno. */
int tree_link(const struct tree *t, const char *path, char *buf, size_t size);

/* True for any type of file; false also if @path cannot be accessed. */
bool tree_exists(const struct tree *t, const char *path);

/**
 * tree_list - call @each for the names in a directory, sorted, but not for hidden or unprintable ones
 *
 * Stops at the first result of @each that is not 0 and returns it. Else returns 0 or
 * -errno; -E2BIG, without calling @each, for more than TREE_MAX_NAMES names.
 */
int tree_list(const struct tree *t, const char *path, int (*each)(void *arg, const char *name), void *arg);

enum {
	TREE_MAX_NAMES = 65536,
};

/** struct tree_path - a formatted path, returned by value; empty (no such file) if it is too long */
struct tree_path {
	char at[256];
};

struct tree_path tree_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
