// SPDX-License-Identifier: MIT
/* Reads lines and numbers from the files of a tree. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tool/util/printable.h"
#include "tree.h"

int tree_line(const struct tree *t, const char *path, char *buf, size_t size)
{
	ssize_t n = tree_read(t, path, buf, size);

	if (n < 0)
		return (int)n;
	buf[strcspn(buf, "\n")] = '\0';
	make_printable(buf);
	return n ? 0 : -ENODATA;
}

int tree_u64(const struct tree *t, const char *path, uint64_t *out)
{
	char text[32], *end;
	int ret = tree_line(t, path, text, sizeof(text));

	if (ret)
		return ret;
	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, &end, strncmp(text, "0x", 2) ? 10 : 16);
	return *end || errno ? -EINVAL : 0;
}

int tree_int(const struct tree *t, const char *path, int *out)
{
	char text[16], *end;
	int ret = tree_line(t, path, text, sizeof(text));
	long n;

	if (ret)
		return ret;
	n = strtol(text, &end, 10);
	if (end == text || *end || n != (int)n)
		return -EINVAL;
	*out = (int)n;
	return 0;
}

struct tree_path tree_path(const char *format, ...)
{
	struct tree_path path;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(path.at, sizeof(path.at), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(path.at))
		path.at[0] = '\0';
	return path;
}
