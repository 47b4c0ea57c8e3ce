// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "file_sys.h"
#include "lib/sys/sys.h"

#define WEAK __attribute__((weak))

/* In Linux since 6.1; older headers of the C library lack the constant. */
#ifndef STATX_DIOALIGN
#define STATX_DIOALIGN 0x2000U
#endif

enum {
	DIO_ALIGN_AT = 0x98,	/* offset of stx_dio_mem_align; stx_dio_offset_align follows */
};

static int error_or(ssize_t ret)
{
	return ret < 0 ? -errno : (int)ret;
}

static void take_alignment(const struct statx *st, struct pp_file_facts *out)
{
	if (!(st->stx_mask & STATX_DIOALIGN))
		return;
	memcpy(&out->memory_align, (const char *)st + DIO_ALIGN_AT, sizeof(out->memory_align));
	memcpy(&out->offset_align, (const char *)st + DIO_ALIGN_AT + 4, sizeof(out->offset_align));
}

WEAK int pp_file_sys_facts(int fd, struct pp_file_facts *out)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE | STATX_DIOALIGN, &st))
		return -errno;
	*out = (struct pp_file_facts){
		.is_regular = S_ISREG(st.stx_mode),
		.is_block = S_ISBLK(st.stx_mode),
		.size = st.stx_size,
	};
	take_alignment(&st, out);
	return out->is_block && ioctl(fd, BLKGETSIZE64, &out->size) ? -errno : 0;
}

WEAK int pp_file_sys_flags(int fd)
{
	return error_or(fcntl(fd, F_GETFL));
}

WEAK int pp_file_sys_reopen(int fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return pp_sys_above_stderr(open(path, flags | O_CLOEXEC));
}

WEAK int pp_file_sys_dup(int fd)
{
	return error_or(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

WEAK ssize_t pp_file_sys_read(int fd, void *to, size_t length, uint64_t offset)
{
	ssize_t n = pread(fd, to, length, (off_t)offset);

	return n < 0 ? -errno : n;
}

WEAK ssize_t pp_file_sys_write(int fd, const void *from, size_t length, uint64_t offset)
{
	ssize_t n = pwrite(fd, from, length, (off_t)offset);

	return n < 0 ? -errno : n;
}
