// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call.h"

long call_do(const struct call *c)
{
	switch (c->kind) {
	case CALL_IOCTL:
		return syscall(SYS_ioctl, c->fd, c->request, c->at);
	case CALL_READ:
		return syscall(SYS_read, c->fd, c->at, c->length);
	case CALL_WRITE:
		return syscall(SYS_write, c->fd, c->at, c->length);
	case CALL_PREAD:
		return syscall(SYS_pread64, c->fd, c->at, c->length, c->offset);
	case CALL_PWRITE:
		return syscall(SYS_pwrite64, c->fd, c->at, c->length, c->offset);
	case CALL_MMAP:
		return syscall(SYS_mmap, c->at, c->length, c->prot, c->flags, c->fd, c->offset);
	case CALL_MUNMAP:
		return syscall(SYS_munmap, c->at, c->length);
	case CALL_CLOSE:
		return syscall(SYS_close, c->fd);
	}
	return -1;
}

static const char *const names[] = {
	[CALL_READ] = "read",
	[CALL_WRITE] = "write",
	[CALL_PREAD] = "pread",
	[CALL_PWRITE] = "pwrite",
	[CALL_MMAP] = "mmap",
	[CALL_MUNMAP] = "munmap",
	[CALL_CLOSE] = "close",
};

void call_describe(const struct call *c, const char *path, char *out, size_t size)
{
	if (c->kind == CALL_IOCTL)
		snprintf(out, size, "ioctl %#lx on %s", c->request, path);
	else
		snprintf(out, size, "%s of %s", names[c->kind], path);
}
