/* SPDX-License-Identifier: MIT */
#ifndef GDR_HANDLE_H
#define GDR_HANDLE_H

#include <libpeerpin.h>
#include <pthread.h>
#include <stdatomic.h>
#include "gdrapi.h"

/**
 * struct gdr - result of gdr_open()
 * @fd: descriptor of /dev/peerpin, or -1; the first field, because programs for gdrcopy read it there
 * @flags: enum peerpin_pin_flags of all pins made with this handle
 * @self: the struct's own address; a program's copy of the struct is refused by it
 * @ctx: the context; NULL: without peerpin.ko, by dma-bufs of the GPU's driver (dmabuf.h)
 * @mark: mark of the process that called gdr_open() (process.h)
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
 * @lock: protects the fields below, and the end of the pin. Exists until gdr_close(),
 *	so that a call with an old handle can detect that the pin has ended
 * @type: gdr_mapping_type_t of @view; NONE: not mapped
 * @mark: mark of the process that made the pin (process.h)
 * @owner: the struct gdr that the pin belongs to; NULL: not pinned
 * @times: number of pins so far; a handle of an earlier pin is refused. Never wraps: see
 *	gdr_handle_put()
 * @addr: requested GPU address
 * @region: pinned region; for a dma-buf only its address, length and page size
 * @fd: the dma-buf, or -1: a region of /dev/peerpin
 * @caching: enum peerpin_caching
 * @pin_ns: time that pinning took
 * @view: address of the mapping
 * @view_length: bytes of the mapping
 * @next: next handle in @all of struct gdr
 * @next_unused: next handle in @unused of struct gdr
 *
 * gdr_copy_to_mapping() and gdr_copy_from_mapping() read @type, @mark and @times without
 * @lock.
 */
struct gdr_handle {
	pthread_mutex_t lock;
	_Atomic(gdr_mapping_type_t) type;
	uint64_t mark;
	struct gdr *owner;
	_Atomic uint16_t times;
	uint64_t addr;
	struct pp_region region;
	int fd;
	uint32_t caching;
	uint64_t pin_ns;
	void *view;
	size_t view_length;
	struct gdr_handle *next;
	struct gdr_handle *next_unused;
};

/* 0; -EINVAL @g is not open; -EACCES @g belongs to the parent process */
int gdr_check(const struct gdr *g);

/* Find and lock a pinned handle of @g; the caller unlocks the handle. -EINVAL: no such handle */
int gdr_handle_lock(struct gdr *g, gdr_mh_t mh, struct gdr_handle **out);
void gdr_handle_unlock(struct gdr_handle *h);

/* Get a handle that is not pinned; NULL: no memory */
struct gdr_handle *gdr_handle_get(struct gdr *g);

/*
 * Give back a handle that is not pinned: gdr_handle_get() may return it again. Exception:
 * after UINT16_MAX pins @times would wrap, so the handle stays unused until gdr_close().
 */
void gdr_handle_put(struct gdr *g, struct gdr_handle *h);

/* Addresses from malloc() have at most 48 bits; the bits above hold @times of struct gdr_handle. */
#define GDR_HANDLE_BITS 48

static inline gdr_mh_t gdr_handle_name(const struct gdr_handle *h)
{
	return (gdr_mh_t) { .h = (unsigned long)h | (unsigned long)atomic_load(&h->times) << GDR_HANDLE_BITS };
}

/* NULL: no handle, or a handle of an earlier pin. If @lock is not held, the pin may end at any time. */
static inline struct gdr_handle *gdr_handle_of(gdr_mh_t mh)
{
	struct gdr_handle *h = (struct gdr_handle *)(mh.h & ((1ul << GDR_HANDLE_BITS) - 1));

	return h && gdr_handle_name(h).h == mh.h ? h : NULL;
}

#endif
