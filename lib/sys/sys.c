// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include "sys.h"

#define WEAK __attribute__((weak))

int pp_sys_above_stderr(int fd)
{
	int above, error;

	if (fd < 0)
		return -errno;
	if (fd > STDERR_FILENO)
		return fd;
	above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	error = errno;
	close(fd);
	return above < 0 ? -error : above;
}

/* Returns false if sysfs has a misc device of this name with another number. */
static bool has_number_of(const char *path, dev_t number)
{
	char file[128], text[32] = "";
	unsigned int major_number, minor_number;
	const char *slash = strrchr(path, '/');
	int fd;

	snprintf(file, sizeof(file), "/sys/class/misc/%s/dev", slash ? slash + 1 : path);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return sscanf(text, "%u:%u", &major_number, &minor_number) != 2 ||
	       makedev(major_number, minor_number) == number;
}

/* In a container, the path may be a plain file, or a link to another device. */
static bool is_device(int fd, const char *path)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && has_number_of(path, st.st_rdev);
}

WEAK int pp_sys_open(const char *path)
{
	int fd = pp_sys_above_stderr(open(path, O_RDWR | O_CLOEXEC));

	if (fd == -EISDIR)
		return -ENODEV;
	if (fd < 0 || is_device(fd, path))
		return fd;
	close(fd);
	return -ENODEV;
}

WEAK void pp_sys_close(int fd)
{
	close(fd);
}

WEAK int pp_sys_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

WEAK int pp_sys_map_at(int fd, uint64_t offset, size_t length, int prot, void **out)
{
	void *at = mmap(NULL, length, prot, MAP_SHARED, fd, (off_t)offset);

	if (at == MAP_FAILED)
		return -errno;
	/* do not let a child of fork() inherit the mapping, even if the driver allows it */
	madvise(at, length, MADV_DONTFORK);
	*out = at;
	return 0;
}

WEAK int pp_sys_map(int fd, size_t length, void **out)
{
	return pp_sys_map_at(fd, 0, length, PROT_READ, out);
}

WEAK int pp_sys_unmap(void *at, size_t length)
{
	return munmap(at, length) ? -errno : 0;
}

uint64_t pp_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}
