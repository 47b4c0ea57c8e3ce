/* SPDX-License-Identifier: MIT */
/*
 * What the fuzzer's bytes mean: a machine of test/machines, and what is to be changed in its files. So few bytes make a
 * whole machine, and most of what the fuzzer tries is one that is nearly right.
 *
 * The first byte is the machine, and in its upper half the form in which it is looked at. Then come mutations: each is
 * its kind, the number of an entry (2 bytes, modulo their count), a length and as many bytes.
 */
#ifndef MUTATION_H
#define MUTATION_H

#include <stddef.h>
#include <stdint.h>
#include "tool/capture/entries.h"

enum mutation_kind {
	MUTATION_REPLACE,	/* the file's text by the bytes */
	MUTATION_PATCH,		/* its text, from the offset in the first 2 bytes on, by the others */
	MUTATION_CUT,		/* its text, at the offset in the first 2 bytes */
	MUTATION_REMOVE,
	MUTATION_LINK,		/* it is a link to the bytes instead */
	MUTATION_DIR,		/* it is a directory instead */
	MUTATION_HIDE,		/* it may not be read */
	MUTATION_COPY,		/* it is there a second time, and the path of that ends in the bytes */
	MUTATION_CROWD,		/* its directory has up to 499 more links, with addresses of devices */
	MUTATION_REPEAT,	/* its text, the first byte times */
	NR_MUTATIONS,
};

enum {
	FORM_SHIFT = 4,
	NR_FORMS = 3,
};

/* @machines: @count of them; they are not changed. */
void mutate(const struct entries *machines, size_t count, const uint8_t *bytes, size_t size, struct entries *out);

/* Those of a tar, as it is. False: it cannot be read. */
bool entries_read(const char *file, struct entries *out);

#endif
