/* SPDX-License-Identifier: MIT */
#ifndef GDR_HANDLE_H
#define GDR_HANDLE_H

#include <libpeerpin.h>
#include <pthread.h>
#include <stdatomic.h>
#include "gdrapi.h"

/**
 * struct gdr - result of gdr_open()
 * @fd: /dev/peerpin; the first field as in gdrcopy, as programs read it there
 * @flags: enum peerpin_pin_flags of its pins
 * @self: the struct's own address, so that a copy made by a program is refused
 * @ctx: the context
 * @mark: process that opened it (process.h)
 * @lock: protects @all and @unused; no other lock is held with it
 * @all: all handles made so far
 * @unused: handles that are not pinned and can be used again
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
 * @lock: protects the fields below, and the end of the pin. Not freed before
 *	gdr_close(), so that a call with an old handle finds the pin gone
 * @type: gdr_mapping_type_t of @view; NONE: not mapped. Copies read it without @lock
 * @mark: process of the pin (process.h); copies read it without @lock
 * @owner: NULL: not pinned
 * @times: number of pins so far. A handle of an earlier pin is refused. Copies read
 *	it without @lock. It does not wrap: see gdr_handle_put()
 * @addr: requested GPU address
 * @region: pinned region
 * @caching: enum peerpin_caching
 * @pin_ns: time that pinning took
 * @view: the mapping
 * @view_length: its bytes
 * @next: in @all of struct gdr
 * @next_unused: in @unused of struct gdr
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

/* 0; -EINVAL @g is not open; -EACCES @g belongs to the parent process */
int gdr_check(const struct gdr *g);

/* Find and lock a handle; the caller unlocks it. -EINVAL: no pinned handle of @g */
int gdr_handle_lock(struct gdr *g, gdr_mh_t mh, struct gdr_handle **out);
void gdr_handle_unlock(struct gdr_handle *h);

/* A handle that is not pinned; NULL: no memory */
struct gdr_handle *gdr_handle_get(struct gdr *g);

/*
 * @h is not pinned (any more): gdr_handle_get() may return it again. Exception: after
 * UINT16_MAX pins all its names are used up, and it stays unused until gdr_close().
 */
void gdr_handle_put(struct gdr *g, struct gdr_handle *h);

/* Addresses from malloc() have at most 48 bits; the bits above hold @times of struct gdr_handle. */
#define GDR_HANDLE_BITS 48

static inline gdr_mh_t gdr_handle_name(const struct gdr_handle *h)
{
	return (gdr_mh_t) { .h = (unsigned long)h | (unsigned long)atomic_load(&h->times) << GDR_HANDLE_BITS };
}

/* NULL: no handle, or one that was pinned again since. Without @lock the pin may end at any time. */
static inline struct gdr_handle *gdr_handle_of(gdr_mh_t mh)
{
	struct gdr_handle *h = (struct gdr_handle *)(mh.h & ((1ul << GDR_HANDLE_BITS) - 1));

	return h && gdr_handle_name(h).h == mh.h ? h : NULL;
}

#endif
