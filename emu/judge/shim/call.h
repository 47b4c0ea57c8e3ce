/* SPDX-License-Identifier: MIT */
/* A system call on a driver's node or mapping, as data, so that another process can make it too. */
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
 * struct call - what is not named in the call is 0
 * @at: argument of ioctl, buffer, or address
 * @request: of ioctl
 * @fd: -1 for munmap
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

/** call_do - make it; as system calls do, -1 and errno on failure */
long call_do(const struct call *call);

/** call_describe - in words, with the path of the node */
void call_describe(const struct call *call, const char *path, char *out, size_t size);

#endif
