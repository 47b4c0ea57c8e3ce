/* SPDX-License-Identifier: MIT */
/* What programs read of the tool has to have its form, whatever was put into it; else these abort, so that it is told. */
#ifndef VALID_H
#define VALID_H

#include <stddef.h>

/* One value of JSON (RFC 8259), in UTF-8, and blanks behind it */
void must_be_json(const char *text, size_t size);

/* No element that the report does not have itself: what others have said is text. */
void must_be_html(const char *text);

/* Lines for a terminal, with nothing that steers it */
void must_be_plain(const char *text);

/* Aborts, and says what it is about. */
void must(int condition, const char *what, const char *about);

#endif
