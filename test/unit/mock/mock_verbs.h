/* SPDX-License-Identifier: MIT */
/* A mock libibverbs with one adapter, in place of the system's library. */
#ifndef MOCK_VERBS_H
#define MOCK_VERBS_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdint.h>

/**
 * struct mock_region - arguments of a registration
 * @fd: descriptor of the dma-buf; -1: a pointer was registered
 * @offset: offset in the dma-buf
 */
struct mock_region {
	uint64_t addr;
	uint64_t length;
	int access;
	int fd;
	uint64_t offset;
};

/**
 * struct mock_verbs - state of the mock adapter
 * @calls: number of registrations tried so far
 * @live: number of current registrations
 * @last: arguments of the last registration tried
 * @pointer_error: errno for registrations of pointers; 0: they work
 * @dmabuf_error: errno for registrations of dma-bufs; 0: they work
 * @room: maximum of @live, then ENOMEM; 0: no limit
 * @on_reg: called within each registration; NULL: no call
 * @on_dereg: called within each deregistration; NULL: no call
 * @closed: number of closed dma-bufs
 */
struct mock_verbs {
	int calls;
	int live;
	struct mock_region last;
	int pointer_error;
	int dmabuf_error;
	int room;
	void (*on_reg)(void);
	void (*on_dereg)(void);
	atomic_int closed;
};

extern struct mock_verbs mock_verbs;
extern struct ibv_pd mock_pd;

#endif
