/* SPDX-License-Identifier: MIT */
/*
 * All system calls to a driver are made here. The functions are weak, so that unit
 * tests can replace them by a mock kernel.
 */
#ifndef PP_SYS_H
#define PP_SYS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* All return 0 (or a file descriptor) or -errno. */
int pp_sys_open(const char *path);	/* -ENODEV: not a device, or not the misc device of that name */
void pp_sys_close(int fd);
int pp_sys_ioctl(int fd, unsigned long cmd, void *arg);
int pp_sys_map(int fd, size_t length, void **out);
int pp_sys_map_at(int fd, uint64_t offset, size_t length, int prot, void **out);
int pp_sys_unmap(void *at, size_t length);

/*
 * @fd: result of open() or another call that makes a descriptor, which may be -1. Returns a descriptor above 2,
 * or -errno. Replaces a descriptor 0, 1 or 2 by a duplicate: if the program has closed these three, other code
 * in the process still writes to their numbers.
 */
int pp_sys_above_stderr(int fd);

/* Monotonic time in nanoseconds. */
uint64_t pp_now_ns(void);

static inline void pp_restore_errno(const int *saved)
{
	errno = *saved;
}

/* The first line of every public function that may call libc: keeps the caller's errno. */
#define PP_KEEP_ERRNO \
	__attribute__((cleanup(pp_restore_errno), unused)) const int pp_saved_errno = errno

#define PP_HIDDEN __attribute__((visibility("hidden")))
#define PP_PUBLIC __attribute__((visibility("default")))

#endif
