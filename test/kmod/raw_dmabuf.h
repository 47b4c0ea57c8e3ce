/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/* Ioctls of /dev/raw_dmabuf: an exporter of dma-bufs, for tests. */
#ifndef RAW_DMABUF_H
#define RAW_DMABUF_H

/* Make a dma-buf of one page. Returns the file descriptor. */
#define RAW_DMABUF_NEW	_IO('R', 0)

enum { RAW_DMABUF_MOST = 16 };	/* largest value of the parameters others and copies */

/*
 * Revoke the dma-buf (the argument is its descriptor). Waits up to ten seconds for all fences.
 * Returns 1 if there was a fence, else 0; ETIMEDOUT.
 */
#define RAW_DMABUF_TAKE	_IO('R', 1)

/* MOVE begins to move a dma-buf: mapping it waits until MOVED. One move at a time. */
#define RAW_DMABUF_MOVE		_IO('R', 2)
#define RAW_DMABUF_MOVED	_IO('R', 3)

#endif
