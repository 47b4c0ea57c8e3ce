/* SPDX-License-Identifier: MIT */
/*
 * A make-believe kernel: a queue of the commands the code under test is
 * expected to give, each with a function that looks at the argument, fills in
 * the outputs and says what ioctl() returns.
 */
#ifndef MOCK_KERNEL_H
#define MOCK_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum {
	MOCK_FD = 1000,		/* /dev/peerpin */
	MOCK_PEER_FD,		/* any other device */
};

/* The revocation page. */
extern uint32_t mock_epochs[];

/* What the next open() and mmap() return: 0, or -errno. */
extern int mock_open_error;
extern int mock_map_error;
extern const char *mock_opened;	/* path of the last open() */
extern int mock_closed;		/* descriptors closed so far */

void mock_reset(void);
void mock_expect(unsigned long cmd, int (*answer)(void *arg));

/* Nothing that was expected is missing. */
void mock_done(void);

#endif
