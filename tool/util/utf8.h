/* SPDX-License-Identifier: MIT */
/* Checks for valid UTF-8, which names of files, devices and drivers need not be. */
#ifndef UTF8_H
#define UTF8_H

#include <stddef.h>

/* Length of the first character of @text, 1 to 4 bytes; 0: not valid UTF-8 (RFC 3629), or the end. */
size_t utf8_length(const char *text);

#endif
