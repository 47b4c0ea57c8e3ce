/* SPDX-License-Identifier: MIT */
/* An io_uring that has a reference to a file */
#ifndef TEST_URING_H
#define TEST_URING_H

#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

/* io_uring gets a reference to @file. -1: this kernel has no io_uring. */
static inline int ring_with(int file)
{
	struct io_uring_params params = { 0 };
	int ring = syscall(SYS_io_uring_setup, 1, &params);

	if (ring >= 0 && !syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &file, 1))
		return ring;
	close(ring);
	return -1;
}

#endif
