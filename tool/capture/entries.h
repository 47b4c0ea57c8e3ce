/* SPDX-License-Identifier: MIT */
/* The entries of a capture: files, directories and links of a tree, to be written as a tar. */
#ifndef CAPTURE_ENTRIES_H
#define CAPTURE_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include "tool/machine/tree.h"

enum entry_type {
	ENTRY_DIR,
	ENTRY_FILE,
	ENTRY_LINK,
	ENTRY_UNSEEN,	/* a file without permission to read */
};

/** struct entry - @data: contents of a file, or target of a link: @size bytes and a terminating 0 */
struct entry {
	enum entry_type type;
	char *path;
	char *data;
	size_t size;
};

/** struct entries - a list; entries_sort() orders it by path and counts in @unseen the entries of ENTRY_UNSEEN */
struct entries {
	struct entry *at;
	size_t count;
	size_t unseen;
};

/* Finds all files that capture_rules in list.c names. */
void entries_find(const struct tree *tree, struct entries *out);

/* Adds a file; call entries_sort() afterwards. Takes ownership of @data, which comes from malloc(). */
void entries_add_file(struct entries *e, const char *path, char *data, size_t size);

void entries_sort(struct entries *e);
void entries_free(struct entries *e);

/* Writes the tar, compressed if the name ends in "gz". Returns 0 or -errno. */
int entries_write(const struct entries *e, const char *file);

#endif
