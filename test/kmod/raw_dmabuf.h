/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/* Ioctls of /dev/raw_dmabuf: an exporter of dma-bufs, for tests. */
#ifndef RAW_DMABUF_H
#define RAW_DMABUF_H

/* Make a dma-buf of one page. Returns its descriptor. */
#define RAW_DMABUF_NEW	_IO('R', 0)

enum { RAW_DMABUF_MOST = 16 };	/* greatest value of parameters others and copies */

/*
 * Revoke the dma-buf of the descriptor that is the argument, and wait for all of its fences, at most
 * ten seconds. Returns 0 if there was no fence, 1 if there was; ETIMEDOUT.
 */
#define RAW_DMABUF_TAKE	_IO('R', 1)

/* Begin to move the dma-buf of the argument: mapping it waits until RAW_DMABUF_MOVED. One at a time */
#define RAW_DMABUF_MOVE		_IO('R', 2)
#define RAW_DMABUF_MOVED	_IO('R', 3)

#endif
