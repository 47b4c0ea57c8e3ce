/* SPDX-License-Identifier: MIT */
/* Small kernel files, such as parameters. All functions return 0 or -errno. */
#ifndef JUDGE_FILE_H
#define JUDGE_FILE_H

#include <stddef.h>

int file_write(const char *path, const char *text);

/** file_read - read up to @size - 1 bytes; adds a NUL, strips the last newline */
int file_read(const char *path, char *out, size_t size);

#endif
