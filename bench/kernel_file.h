/* SPDX-License-Identifier: MIT */
/* Files of the kernel: procfs and tracefs. */
#ifndef BENCH_KERNEL_FILE_H
#define BENCH_KERNEL_FILE_H

#include "bench.h"

static inline void kernel_write(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	bench_need(fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value), path, errno);
	close(fd);
}

static inline FILE *kernel_open(const char *path)
{
	FILE *f = fopen(path, "re");

	bench_need(!!f, path, errno);
	return f;
}

#endif
