/* SPDX-License-Identifier: MIT */
/* Small files of the kernel, such as parameters; all return 0 or -errno. */
#ifndef JUDGE_FILE_H
#define JUDGE_FILE_H

#include <stddef.h>

int file_write(const char *path, const char *text);

/** file_read - all of it up to @size - 1 bytes, ended by a NUL, without the last newline */
int file_read(const char *path, char *out, size_t size);

#endif
