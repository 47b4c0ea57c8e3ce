/* SPDX-License-Identifier: MIT */
/*
 * A mock kernel: a queue of the commands expected from the code under test. The
 * function of each command checks the argument, fills in the outputs and returns
 * the result of ioctl().
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

/* Result of the next open() and mmap(): 0, or -errno. */
extern int mock_open_error;
extern int mock_map_error;
extern const char *mock_opened;	/* path of the last open() */
extern int mock_closed;		/* descriptors closed so far */
extern int mock_epochs_unmapped;	/* how often the revocation page was unmapped */

/**
 * struct mock_view - CPU mappings of regions
 * @calls: mmap() of regions so far
 * @offset: of the last mmap(); likewise @length and @prot
 * @answer: NULL, or called by the next ones; returns 0 or -errno
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
extern char mock_view_at[];	/* address of each view */

void mock_reset(void);
void mock_expect(unsigned long cmd, int (*answer)(void *arg));

/* Assert that every expected command has come. */
void mock_done(void);

#endif
