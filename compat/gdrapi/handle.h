/* SPDX-License-Identifier: MIT */
#ifndef GDR_HANDLE_H
#define GDR_HANDLE_H

#include <libpeerpin.h>
#include <pthread.h>
#include <stdatomic.h>
#include "gdrapi.h"

/**
 * struct gdr - what gdr_open() returns
 * @fd: /dev/peerpin; first, where gdrcopy has its own: programs look there
 * @flags: enum peerpin_pin_flags of its pins
 * @self: tells it from a copy that a program made
 * @ctx: the file
 * @mark: process that opened it (process.h)
 * @lock: of @all and @unused; taken alone
 * @all: every handle made so far
 * @unused: those that are not pinned, and may be
 */
struct gdr {
	int fd;
	uint32_t flags;
	struct gdr *self;
	struct pp_ctx *ctx;
	uint64_t mark;
	pthread_mutex_t lock;
	struct gdr_handle *all;
	struct gdr_handle *unused;
};

/**
 * struct gdr_handle - a pin
 * @lock: of all below, and of the pin's end; never freed before gdr_close(),
 *	so that whoever is late finds that there is no pin
 * @type: gdr_mapping_type_t of @view; NONE: there is none. Copies read it
 *	without @lock.
 * @mark: the process it is of (process.h); copies read it without @lock
 * @owner: NULL: not pinned
 * @times: it was pinned so often; who has a handle of an earlier time is late
 *	too. Copies read it without @lock. It does not wrap: see gdr_handle_put().
 * @addr: GPU address that was asked for
 * @region: what was pinned
 * @caching: enum peerpin_caching
 * @pin_ns: time it took
 * @view: the mapping
 * @view_length: bytes of it
 * @next: in gdr.all
 * @next_unused: in gdr.unused
 */
struct gdr_handle {
	pthread_mutex_t lock;
	_Atomic(gdr_mapping_type_t) type;
	uint64_t mark;
	struct gdr *owner;
	_Atomic uint16_t times;
	uint64_t addr;
	struct pp_region region;
	uint32_t caching;
	uint64_t pin_ns;
	void *view;
	size_t view_length;
	struct gdr_handle *next;
	struct gdr_handle *next_unused;
};

/* 0; -EINVAL not an open one; -EACCES another process's */
int gdr_check(const struct gdr *g);

/* -EINVAL: not one of @g. To be unlocked by the caller. */
int gdr_handle_lock(struct gdr *g, gdr_mh_t mh, struct gdr_handle **out);
void gdr_handle_unlock(struct gdr_handle *h);

/* One that nobody knows yet; NULL: no memory */
struct gdr_handle *gdr_handle_get(struct gdr *g);

/*
 * Not pinned (any more): gdr_handle_get() may return it again, but not after as
 * many pins as have a name. Then it rests until gdr_close().
 */
void gdr_handle_put(struct gdr *g, struct gdr_handle *h);

/* Addresses that malloc() returns have no more bits; above them is struct gdr_handle.times. */
#define GDR_HANDLE_BITS 48

static inline gdr_mh_t gdr_handle_name(const struct gdr_handle *h)
{
	return (gdr_mh_t) { .h = (unsigned long)h | (unsigned long)atomic_load(&h->times) << GDR_HANDLE_BITS };
}

/* NULL: none, or pinned once more since; it may have ended just now */
static inline struct gdr_handle *gdr_handle_of(gdr_mh_t mh)
{
	struct gdr_handle *h = (struct gdr_handle *)(mh.h & ((1ul << GDR_HANDLE_BITS) - 1));

	return h && gdr_handle_name(h).h == mh.h ? h : NULL;
}

#endif
