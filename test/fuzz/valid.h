/* SPDX-License-Identifier: MIT */
/* The tool's output must be well-formed for any input. A failed check aborts, which the fuzzer sees. */
#ifndef VALID_H
#define VALID_H

#include <stddef.h>

/* One JSON value (RFC 8259) in UTF-8, optionally followed by blanks */
void must_be_json(const char *text, size_t size);

/* Only elements that the report itself uses: foreign text must be escaped. */
void must_be_html(const char *text);

/* Lines for a terminal, without control characters */
void must_be_plain(const char *text);

/* Aborts with a message if @condition is false. */
void must(int condition, const char *what, const char *about);

#endif
