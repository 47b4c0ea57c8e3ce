/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/rsync_check: a platform driver for the rsync calls of nv-p2p.h, for tests. Removing the
 * module does not unregister the driver.
 */
#ifndef _RSYNC_CHECK_H
#define _RSYNC_CHECK_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum rsync_check_op {
	RSYNC_CHECK_REGISTER,
	RSYNC_CHECK_UNREGISTER,
	RSYNC_CHECK_LOOK,
	RSYNC_CHECK_ANSWER,	/* the next get_relaxed_ordering_mode returns @error */
};

/* REGISTER, UNREGISTER: how the argument is wrong */
enum rsync_check_fault {
	RSYNC_CHECK_VALID,
	RSYNC_CHECK_NULL,
	RSYNC_CHECK_OLD_MAJOR,
	RSYNC_CHECK_OLD_MINOR,
	RSYNC_CHECK_NO_GET,
	RSYNC_CHECK_NO_PUT,
	RSYNC_CHECK_NO_WAIT,
	RSYNC_CHECK_OTHER_DATA,	/* the data pointer differs from the registered pointer */
};

enum { RSYNC_CHECK_MODE = 7 };	/* mode that the driver returns; 0 would not be stored */

/**
 * struct rsync_check - RSYNC_CHECK_IOC
 * @op: enum rsync_check_op
 * @fault: enum rsync_check_fault
 * @error: ANSWER: 0 or -errno
 * @out_gets: LOOK: calls of get_relaxed_ordering_mode that returned 0
 * @out_puts: LOOK: calls of put_relaxed_ordering_mode
 * @out_mode: LOOK: mode passed to the last put_relaxed_ordering_mode
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
