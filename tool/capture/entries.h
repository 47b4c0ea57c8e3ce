/* SPDX-License-Identifier: MIT */
/* What a capture consists of: found in a tree, and written as a tar. */
#ifndef CAPTURE_ENTRIES_H
#define CAPTURE_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include "tool/machine/tree.h"

enum entry_type {
	ENTRY_DIR,
	ENTRY_FILE,
	ENTRY_LINK,
	ENTRY_UNSEEN,	/* a file that may not be read */
};

/** struct entry - @data: of a file its bytes, of a link where it leads; of @size bytes and a 0 */
struct entry {
	enum entry_type type;
	char *path;
	char *data;
	size_t size;
};

/** struct entries - sorted by path, each path once */
struct entries {
	struct entry *at;
	size_t count;
	size_t unseen;
};

/* Finds all that capture_list.c names. */
void entries_find(const struct tree *tree, struct entries *out);

/* Adds a file, to an array that entries_sort() is to put in order. Takes @data, which malloc() gave. */
void entries_add_file(struct entries *e, const char *path, char *data, size_t size);

void entries_sort(struct entries *e);
void entries_free(struct entries *e);

/* Compressed if the name ends in "gz". 0 or -errno. */
int entries_write(const struct entries *e, const char *file);

#endif
