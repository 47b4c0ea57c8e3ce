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
 * @lock: protects @tables and @unused; no other lock is held with it
 * @tables: number of tables whose handles it has
 * @unused: handles of these tables that are not pinned and can be used again
 */
struct gdr {
	int fd;
	uint32_t flags;
	struct gdr *self;
	struct pp_ctx *ctx;
	uint64_t mark;
	pthread_mutex_t lock;
	unsigned int tables;
	struct gdr_handle *unused;
};

/**
 * struct gdr_table - handles, and the addresses that name their pins
 * @next: next table of this process
 * @names: readable addresses; the program gets them as gdr_mh_t
 * @count: number of @handles, a power of two
 * @mark: mark of the process that made the table (process.h)
 * @owner: the struct gdr that uses the handles; NULL: none, gdr_handle_get() may take the table
 *
 * A table is never freed, so any number can be looked up at any time. Only @owner changes.
 */
struct gdr_table {
	struct gdr_table *next;
	uintptr_t names;
	size_t count;
	uint64_t mark;
	_Atomic(struct gdr *) owner;
	struct gdr_handle *handles;
};

/**
 * struct gdr_handle - a pin
 * @table: the table that contains this handle
 * @lock: protects the fields below, and the end of the pin
 * @type: gdr_mapping_type_t of @view; NONE: not mapped
 * @owner: the struct gdr that the pin belongs to; NULL: not pinned
 * @times: number of pins so far; a handle of an earlier pin is refused. Never wraps: see
 *	gdr_handle_put()
 * @addr: requested GPU address
 * @asked: enum peerpin_pin_flags of the program's pin
 * @flags: of the present pin, which gdr_map_v2() may have replaced
 * @region: pinned region; for a dma-buf only its address, length and page size
 * @fd: the dma-buf, or -1: a region of /dev/peerpin
 * @caching: enum peerpin_caching
 * @pin_ns: time that pinning took
 * @view: address of the mapping
 * @view_length: bytes of the mapping
 * @next_unused: next handle in @unused of struct gdr
 *
 * gdr_copy_to_mapping() and gdr_copy_from_mapping() read @type and @times without @lock.
 */
struct gdr_handle {
	struct gdr_table *table;
	pthread_mutex_t lock;
	_Atomic(gdr_mapping_type_t) type;
	struct gdr *owner;
	_Atomic uint16_t times;
	uint64_t addr;
	uint32_t asked;
	uint32_t flags;
	struct pp_region region;
	int fd;
	uint32_t caching;
	uint64_t pin_ns;
	void *view;
	size_t view_length;
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
 * after UINT16_MAX pins @times would wrap, so the handle stays unused.
 */
void gdr_handle_put(struct gdr *g, struct gdr_handle *h);

/* Call @end for each handle of @g, then give the tables back. Returns the first error of @end. */
int gdr_handles_end(struct gdr *g, int (*end)(struct gdr_handle *h));

/* The name of the current pin: an address behind which the program can read GDR_NAME_READABLE bytes, all zero */
enum { GDR_NAME_READABLE = 4096 };
gdr_mh_t gdr_handle_name(const struct gdr_handle *h);

/* NULL: not the name of the last pin of a handle. If @lock is not held, the pin may end at any time. */
struct gdr_handle *gdr_handle_of(gdr_mh_t mh);

#endif
