/* SPDX-License-Identifier: MIT */
/* A mock libibverbs with one adapter, in place of the system's library. */
#ifndef MOCK_VERBS_H
#define MOCK_VERBS_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdint.h>

/**
 * struct mock_region - arguments of a registration
 * @fd: the dma-buf; -1: a pointer was given
 * @offset: in the dma-buf
 */
struct mock_region {
	uint64_t addr;
	uint64_t length;
	int access;
	int fd;
	uint64_t offset;
};

/**
 * struct mock_verbs
 * @calls: registrations tried so far
 * @live: registrations that are not deregistered
 * @last: arguments of the last one tried
 * @pointer_error: errno that registrations of pointers fail with; 0: they work
 * @dmabuf_error: likewise, of dma-bufs
 * @room: limit of live registrations, ENOMEM beyond it; 0: no limit
 * @on_reg: NULL, or called within each registration
 * @on_dereg: NULL, or called within each deregistration
 * @closed: dma-bufs that were closed
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
