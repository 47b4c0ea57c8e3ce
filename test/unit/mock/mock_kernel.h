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
	MOCK_DMABUF_FD,
};

/* The revocation page. */
extern uint32_t mock_epochs[];

/* What the next open() and mmap() return: 0, or -errno. */
extern int mock_open_error;
extern int mock_map_error;
extern const char *mock_opened;	/* path of the last open() */
extern int mock_closed;		/* descriptors closed so far */
extern int mock_epochs_unmapped;	/* so often the revocation page was */

/**
 * struct mock_view - how the CPU was given regions
 * @calls: mmap() of one so far
 * @offset: of the last; likewise @length and @prot
 * @answer: NULL, or what the next ones do: return 0 or -errno
 * @unmapped: bytes of views that were unmapped
 */
struct mock_view {
	int calls;
	uint64_t offset;
	size_t length;
	int prot;
	int (*answer)(void);
	size_t unmapped;
};

extern struct mock_view mock_view;
extern char mock_view_at[];	/* where each of them lies */

void mock_reset(void);
void mock_expect(unsigned long cmd, int (*answer)(void *arg));

/* Nothing that was expected is missing. */
void mock_done(void);

#endif
