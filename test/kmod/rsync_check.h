/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/rsync_check: a platform driver of nv-p2p.h's rsync calls, for tests.
 * Removing the module does not unregister it.
 */
#ifndef _RSYNC_CHECK_H
#define _RSYNC_CHECK_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum rsync_check_op {
	RSYNC_CHECK_REGISTER,
	RSYNC_CHECK_UNREGISTER,
	RSYNC_CHECK_LOOK,
	RSYNC_CHECK_ANSWER,	/* return @error from the next get_relaxed_ordering_mode */
};

/* REGISTER, UNREGISTER: fault of the argument */
enum rsync_check_fault {
	RSYNC_CHECK_VALID,
	RSYNC_CHECK_NULL,
	RSYNC_CHECK_OLD_MAJOR,
	RSYNC_CHECK_OLD_MINOR,
	RSYNC_CHECK_NO_GET,
	RSYNC_CHECK_NO_PUT,
	RSYNC_CHECK_NO_WAIT,
	RSYNC_CHECK_OTHER_DATA,	/* registered with other data */
};

enum { RSYNC_CHECK_MODE = 7 };	/* mode that it returns; the GPU driver only stores if it is not 0 */

/**
 * struct rsync_check - RSYNC_CHECK_IOC
 * @op: enum rsync_check_op
 * @fault: enum rsync_check_fault
 * @error: ANSWER: 0 or -errno
 * @out_gets: LOOK: calls of get_relaxed_ordering_mode that returned 0
 * @out_puts: LOOK: calls of put_relaxed_ordering_mode
 * @out_mode: LOOK: argument of the last of these
 */
struct rsync_check {
	__u32 op;
	__u32 fault;
	__s32 error;
	__u32 out_gets;
	__u32 out_puts;
	__s32 out_mode;
};

#define RSYNC_CHECK_IOC _IOWR(0xBE, 0, struct rsync_check)

#endif
