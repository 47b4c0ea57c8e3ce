// SPDX-License-Identifier: MIT
/*
 * Replacements for functions of the C library, including checked variants such as
 * __read_chk(). The test program and its libraries call the replacements.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytes.h"
#include "call.h"
#include "mapping.h"
#include "watch.h"

#define EXPORT __attribute__((visibility("default")))

/* The replaced function, looked up at the first call. Two threads may do the look-up at the same time. */
#define NEXT(function) ({ \
	static __typeof__(&function) next; \
	__typeof__(&function) found = __atomic_load_n(&next, __ATOMIC_RELAXED); \
	if (!found) { \
		found = (__typeof__(&function))dlsym(RTLD_NEXT, #function); \
		__atomic_store_n(&next, found, __ATOMIC_RELAXED); \
	} \
	found; \
})

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	struct call call = { .kind = CALL_IOCTL, .fd = fd, .request = request };
	va_list args;

	va_start(args, request);
	call.at = va_arg(args, void *);
	va_end(args);
	bytes_note(fd, request, call.at);
	return watch_wants(&call) ? (int)watch_do(&call) : NEXT(ioctl)(fd, request, call.at);
}

EXPORT ssize_t read(int fd, void *at, size_t length)
{
	struct call call = { .kind = CALL_READ, .fd = fd, .at = at, .length = length };

	return watch_wants(&call) ? watch_do(&call) : NEXT(read)(fd, at, length);
}

EXPORT ssize_t write(int fd, const void *at, size_t length)
{
	struct call call = { .kind = CALL_WRITE, .fd = fd, .at = (void *)at, .length = length };

	return watch_wants(&call) ? watch_do(&call) : NEXT(write)(fd, at, length);
}

EXPORT ssize_t pread(int fd, void *at, size_t length, off_t offset)
{
	struct call call = { .kind = CALL_PREAD, .fd = fd, .at = at, .length = length, .offset = offset };

	return watch_wants(&call) ? watch_do(&call) : NEXT(pread)(fd, at, length, offset);
}

EXPORT ssize_t pwrite(int fd, const void *at, size_t length, off_t offset)
{
	struct call call = { .kind = CALL_PWRITE, .fd = fd, .at = (void *)at, .length = length, .offset = offset };

	return watch_wants(&call) ? watch_do(&call) : NEXT(pwrite)(fd, at, length, offset);
}

EXPORT ssize_t pread64(int fd, void *at, size_t length, off_t offset)
{
	return pread(fd, at, length, offset);
}

EXPORT ssize_t pwrite64(int fd, const void *at, size_t length, off_t offset)
{
	return pwrite(fd, at, length, offset);
}

EXPORT ssize_t __read_chk(int fd, void *at, size_t length, size_t size);
EXPORT ssize_t __read_chk(int fd, void *at, size_t length, size_t size)
{
	if (length > size)
		__builtin_trap();
	return read(fd, at, length);
}

EXPORT ssize_t __pread_chk(int fd, void *at, size_t length, off_t offset, size_t size);
EXPORT ssize_t __pread_chk(int fd, void *at, size_t length, off_t offset, size_t size)
{
	if (length > size)
		__builtin_trap();
	return pread(fd, at, length, offset);
}

EXPORT ssize_t __pread64_chk(int fd, void *at, size_t length, off_t offset, size_t size);
EXPORT ssize_t __pread64_chk(int fd, void *at, size_t length, off_t offset, size_t size)
{
	return __pread_chk(fd, at, length, offset, size);
}

/* A new mapping may replace a driver's mapping at the same addresses. */
static void *map_other(void *at, size_t length, int prot, int flags, int fd, off_t offset)
{
	void *got = NEXT(mmap)(at, length, prot, flags, fd, offset);

	if (got != MAP_FAILED)
		mapping_remove(got, length);
	return got;
}

EXPORT void *mmap(void *at, size_t length, int prot, int flags, int fd, off_t offset)
{
	struct call call = {
		.kind = CALL_MMAP,
		.fd = flags & MAP_ANONYMOUS ? -1 : fd,
		.at = at,
		.length = length,
		.prot = prot,
		.flags = flags,
		.offset = offset,
	};

	return watch_wants(&call) ? (void *)watch_do(&call) : map_other(at, length, prot, flags, fd, offset);
}

EXPORT void *mmap64(void *at, size_t length, int prot, int flags, int fd, off_t offset)
{
	return mmap(at, length, prot, flags, fd, offset);
}

EXPORT int munmap(void *at, size_t length)
{
	struct call call = { .kind = CALL_MUNMAP, .fd = -1, .at = at, .length = length };

	return watch_wants(&call) ? (int)watch_do(&call) : NEXT(munmap)(at, length);
}

EXPORT int close(int fd)
{
	struct call call = { .kind = CALL_CLOSE, .fd = fd };

	return watch_wants(&call) ? (int)watch_do(&call) : NEXT(close)(fd);
}
