/* SPDX-License-Identifier: MIT */
/*
 * Decodes the fuzzer's bytes: they select a machine of test/machines and changes of its files. So a few bytes make a
 * whole machine, and most inputs are nearly valid machines.
 *
 * The lower half of the first byte selects the machine, the upper half the form of output. Mutations follow, each as:
 * kind, number of an entry (2 bytes, modulo the count of entries), length, and that many bytes.
 */
#ifndef MUTATION_H
#define MUTATION_H

#include <stddef.h>
#include <stdint.h>
#include "tool/capture/entries.h"

enum mutation_kind {
	MUTATION_REPLACE,	/* replace the file's text by the bytes */
	MUTATION_PATCH,		/* overwrite its text by the bytes, from the offset in the first 2 bytes */
	MUTATION_CUT,		/* truncate its text at the offset in the first 2 bytes */
	MUTATION_REMOVE,
	MUTATION_LINK,		/* make it a link; the bytes are the target */
	MUTATION_DIR,		/* make it a directory */
	MUTATION_HIDE,		/* make it unreadable */
	MUTATION_COPY,		/* copy it to a path that ends in the bytes */
	MUTATION_CROWD,		/* add up to 499 links, named like device addresses, to its directory */
	MUTATION_REPEAT,	/* repeat its text; the first byte is the count */
	NR_MUTATIONS,
};

enum {
	FORM_SHIFT = 4,
	NR_FORMS = 3,
};

/* Copies one of @count @machines to @out and mutates the copy. */
void mutate(const struct entries *machines, size_t count, const uint8_t *bytes, size_t size, struct entries *out);

/* Reads the entries of a tar file without changes; false if it cannot be read. */
bool entries_read(const char *file, struct entries *out);

#endif
