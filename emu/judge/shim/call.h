/* SPDX-License-Identifier: MIT */
/* A system call on a driver's node or mapping, stored so that another process can repeat it. */
#ifndef SHIM_CALL_H
#define SHIM_CALL_H

#include <stddef.h>
#include <sys/types.h>

enum call_kind {
	CALL_IOCTL,
	CALL_READ,
	CALL_WRITE,
	CALL_PREAD,
	CALL_PWRITE,
	CALL_MMAP,
	CALL_MUNMAP,
	CALL_CLOSE,
};

/**
 * struct call - arguments of a system call; unused members are 0
 * @fd: file descriptor; -1 for munmap
 * @at: third argument of ioctl, buffer of read and write, or address of mmap and munmap
 * @request: request code of ioctl
 */
struct call {
	enum call_kind kind;
	int fd;
	void *at;
	size_t length;
	unsigned long request;
	int prot;
	int flags;
	off_t offset;
};

/** call_do - make the system call; returns -1 with errno set on failure */
long call_do(const struct call *call);

/** call_describe - write a text with the call's name and @path to @out */
void call_describe(const struct call *call, const char *path, char *out, size_t size);

#endif
