/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/* What test/kmod/raw_dmabuf.c does for a program: ioctls of /dev/raw_dmabuf. */
#ifndef RAW_DMABUF_H
#define RAW_DMABUF_H

/* A dma-buf of a page; the descriptor is returned. */
#define RAW_DMABUF_NEW	_IO('R', 0)

enum { RAW_DMABUF_MOST = 16 };	/* others, or copies */

/*
 * Take back that of the descriptor that is the argument, and wait until all that is
 * to be waited for has ended, at most ten seconds. Returns 0 if there was nothing, 1
 * if there was; ETIMEDOUT.
 */
#define RAW_DMABUF_TAKE	_IO('R', 1)

/* That of the argument is being moved, and whoever maps it waits, until RAW_DMABUF_MOVED. One at a time */
#define RAW_DMABUF_MOVE		_IO('R', 2)
#define RAW_DMABUF_MOVED	_IO('R', 3)

#endif
