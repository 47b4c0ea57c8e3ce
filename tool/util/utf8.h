/* SPDX-License-Identifier: MIT */
/* Checks for valid UTF-8, because names of files, devices and drivers may be any bytes. */
#ifndef UTF8_H
#define UTF8_H

#include <stddef.h>

/* Returns the length of the first character of @text, 1 to 4 bytes; 0: invalid UTF-8 (RFC 3629), or the end. */
size_t utf8_length(const char *text);

#endif
