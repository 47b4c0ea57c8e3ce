/* SPDX-License-Identifier: MIT */
/* The tool must print well-formed output for any input. A failed check aborts, and the fuzzer reports the abort. */
#ifndef VALID_H
#define VALID_H

#include <stddef.h>

/* Abort unless @text is one JSON value (RFC 8259) in UTF-8, optionally followed by blanks. */
void must_be_json(const char *text, size_t size);

/* Abort if @text has an element that the report itself does not use: foreign text must be escaped. */
void must_be_html(const char *text);

/* Abort if @text, which is for a terminal, has control characters. */
void must_be_plain(const char *text);

/* Abort with a message if @condition is false. */
void must(int condition, const char *what, const char *about);

#endif
