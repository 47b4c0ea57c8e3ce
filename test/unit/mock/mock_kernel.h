/* SPDX-License-Identifier: MIT */
/*
 * A mock kernel: a queue of the commands that the tested code must send. Each command has a
 * function that checks the argument, fills in the outputs and returns the result of ioctl().
 */
#ifndef MOCK_KERNEL_H
#define MOCK_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum {
	MOCK_FD = 1000,		/* descriptor of /dev/peerpin */
	MOCK_PEER_FD,		/* descriptor of any other device */
	MOCK_DMABUF_FD,
};

/* The revocation page, and its size in the mock kernel */
extern uint32_t mock_epochs[];
extern size_t mock_epoch_bytes;

/* Result of the next open() and mmap(): 0, or -errno. */
extern int mock_open_error;
extern int mock_map_error;
extern const char *mock_opened;	/* path of the last open() */
extern int mock_closed;		/* number of descriptors closed so far */
extern int mock_epochs_unmapped;	/* number of unmaps of the revocation page */

/**
 * struct mock_view - CPU mappings of regions
 * @calls: number of mmap() calls for regions so far
 * @offset: offset of the last mmap()
 * @length: length of the last mmap()
 * @prot: protection of the last mmap()
 * @answer: called by each mmap(); returns 0 or -errno; NULL: each mmap() works
 * @unmapped: number of unmapped bytes of views
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
extern char mock_view_at[];	/* address that mmap() returns for each view */

void mock_reset(void);
void mock_expect(unsigned long cmd, int (*answer)(void *arg));

/* Assert that all expected commands have come. */
void mock_done(void);

#endif
