/* SPDX-License-Identifier: MIT */
/*
 * Decodes the fuzzer's bytes, which select a machine of test/machines and changes of its files. So
 * a few bytes make a whole machine, and most inputs are nearly valid machines.
 *
 * The lower half of the first byte selects the machine, the upper half the form of output.
 * Mutations follow. Each mutation has a kind, the number of an entry (2 bytes, modulo the count of
 * entries), a length, and that many bytes.
 */
#ifndef MUTATION_H
#define MUTATION_H

#include <stddef.h>
#include <stdint.h>
#include "tool/capture/entries.h"

enum mutation_kind {
	MUTATION_REPLACE,	/* replace the text of the file by the bytes */
	MUTATION_PATCH,		/* overwrite the text with the bytes; the first 2 bytes are the offset */
	MUTATION_CUT,		/* truncate the text; the first 2 bytes are the new length */
	MUTATION_REMOVE,
	MUTATION_LINK,		/* turn the entry into a link; the bytes are the target */
	MUTATION_DIR,		/* turn the entry into a directory */
	MUTATION_HIDE,		/* make the entry unreadable */
	MUTATION_COPY,		/* copy the entry; the bytes are the end of the new path */
	MUTATION_CROWD,		/* add up to 499 links, named like device addresses, to the directory of the entry */
	MUTATION_REPEAT,	/* repeat the text; the first byte is the count */
	NR_MUTATIONS,
};

enum {
	FORM_SHIFT = 4,
	NR_FORMS = 3,
};

/* Copy one of @count @machines to @out and mutate the copy. */
void mutate(const struct entries *machines, size_t count, const uint8_t *bytes, size_t size, struct entries *out);

/* Read the entries of a tar file without changes. False: the file cannot be read. */
bool entries_read(const char *file, struct entries *out);

#endif
