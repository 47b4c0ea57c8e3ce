/* SPDX-License-Identifier: MIT */
/*
 * Every system call that reaches a driver goes through here. The functions are
 * weak, so that a unit test puts a make-believe kernel in their place.
 */
#ifndef PP_SYS_H
#define PP_SYS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* All return 0 (or a file descriptor) or -errno. */
int pp_sys_open(const char *path);
void pp_sys_close(int fd);
int pp_sys_ioctl(int fd, unsigned long cmd, void *arg);
int pp_sys_map(int fd, size_t length, void **out);
int pp_sys_map_at(int fd, uint64_t offset, size_t length, int prot, void **out);
int pp_sys_unmap(void *at, size_t length);

/* What open() said, or who else makes descriptors, as above; never 0, 1 or 2, which others write to when a program has closed them. */
int pp_sys_above_stderr(int fd);

/* Monotonic time in nanoseconds. */
uint64_t pp_now_ns(void);

static inline void pp_restore_errno(const int *saved)
{
	errno = *saved;
}

/* Opens every public function that may end up in libc: errno is the caller's. */
#define PP_KEEP_ERRNO \
	__attribute__((cleanup(pp_restore_errno), unused)) const int pp_saved_errno = errno

#define PP_HIDDEN __attribute__((visibility("hidden")))
#define PP_PUBLIC __attribute__((visibility("default")))

#endif
