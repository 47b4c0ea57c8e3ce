/* SPDX-License-Identifier: MIT */
/*
 * The files that describe a machine: the files of this machine, or files of another machine
 * in a directory.
 *
 * Paths have no leading slash: "sys/bus/pci/devices". Another machine's files are
 * untrusted: links never lead out of the directory, only regular files are opened, and
 * no call blocks.
 *
 * -ENOENT: the file does not exist. -EACCES or -EPERM: only root may read the file; callers
 * report that case separately. In another machine's tree, a file or directory without
 * any read permission was not readable on that machine: -EACCES even for root.
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
 * @dir: directory with the files; NULL: this machine
 *
 * Returns 0 or -errno; -ENOSYS if @dir is given and the kernel is older than 5.6.
 */
int tree_open(const char *dir, struct tree **out);

/* @t may be NULL. */
void tree_close(struct tree *t);

/* Is this the tree of this machine? Files of a live tree can change between two calls. */
bool tree_is_live(const struct tree *t);

/* Reads at most @size - 1 bytes, and appends a 0. Returns the bytes read, or -errno; -EINVAL: not a regular file. */
ssize_t tree_read(const struct tree *t, const char *path, void *buf, size_t size);

/* Reads the first line, without newline; '?' replaces unprintable bytes. 0 or -errno; -ENODATA: the file is empty. */
int tree_line(const struct tree *t, const char *path, char *buf, size_t size);

/* Reads a number, decimal or with 0x. 0 or -errno; -EINVAL: not a number. */
int tree_u64(const struct tree *t, const char *path, uint64_t *out);

/* Reads a decimal number with an optional sign. 0 or -errno; -EINVAL: not a number. */
int tree_int(const struct tree *t, const char *path, int *out);

/* Reads the target of a link; '?' replaces unprintable bytes. 0 or -errno; -EINVAL: not a link. */
int tree_target(const struct tree *t, const char *path, char *buf, size_t size);

/* Reads the last component of a link's target. 0 or -errno. */
int tree_link(const struct tree *t, const char *path, char *buf, size_t size);

/* Does @path exist, with any type? Also false if @path cannot be accessed. */
bool tree_exists(const struct tree *t, const char *path);

/**
 * tree_list - call @each for the names in a directory, in sorted order, except hidden and unprintable names
 *
 * Stops when @each returns a value other than 0, and returns this value. Otherwise returns 0
 * or -errno; -E2BIG, without calling @each: there are more than TREE_MAX_NAMES names.
 */
int tree_list(const struct tree *t, const char *path, int (*each)(void *arg, const char *name), void *arg);

enum {
	TREE_MAX_NAMES = 65536,
};

/** struct tree_path - a formatted path, returned by value; "" if the path is too long: no such file exists */
struct tree_path {
	char at[256];
};

struct tree_path tree_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
