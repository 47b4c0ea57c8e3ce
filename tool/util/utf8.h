/* SPDX-License-Identifier: MIT */
/* Is it UTF-8? Names of files, devices and drivers need not be. */
#ifndef UTF8_H
#define UTF8_H

#include <stddef.h>

/* How many bytes the character takes that @text begins with, 1 to 4; 0: it is no UTF-8 (RFC 3629), or the end. */
size_t utf8_length(const char *text);

#endif
