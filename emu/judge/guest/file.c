// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

int file_read(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got = 0;

	*out = '\0';
	if (fd < 0)
		return -errno;
	while (length < size - 1 && (got = read(fd, out + length, size - 1 - length)) > 0)
		length += (size_t)got;
	close(fd);
	if (got < 0)
		return -errno;
	if (length && out[length - 1] == '\n')
		length--;
	out[length] = '\0';
	return 0;
}
