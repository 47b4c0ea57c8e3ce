/* SPDX-License-Identifier: MIT */
/* Registers a memory region in the first way that works. */
#ifndef PP_REGISTRATION_H
#define PP_REGISTRATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include "libpeerpin-verbs.h"

/**
 * struct pp_registrar - arguments common to all registrations
 * @ctx: NULL if /dev/peerpin could not be opened
 * @ctx_error: the error of opening /dev/peerpin
 * @pin_flags: enum peerpin_pin_flags of pins of GPU memory
 */
struct pp_registrar {
	struct ibv_pd *pd;
	int access;
	uint32_t pin_flags;
	struct pp_ctx *ctx;
	int ctx_error;
};

/**
 * struct pp_registration - a struct pp_mr, and the data to check that it is still valid
 * @entry: the cache entry; each get() stores the same value
 * @region: GPU memory: the region that exports the dma-buf
 * @pinned: true if @region is pinned
 * @watch: host memory: its word changes before the memory is unmapped
 * @watched: true if @watch is a watch
 * @buffer_id: CUDA's id of the allocation at @mr.addr; 0 for host memory
 */
struct pp_registration {
	struct pp_mr mr;	/* the first field */
	_Atomic(const struct pp_cache_entry *) entry;
	struct pp_region region;
	bool pinned;
	struct pp_watched watch;
	bool watched;
	uint64_t buffer_id;
};

/**
 * pp_registration_make - register [@addr, @addr + @length)
 * @watched: watch host memory, so that its unmapping is detected
 * @why: filled in on failure
 */
int pp_registration_make(const struct pp_registrar *r, uint64_t addr, uint64_t length, bool watched,
			 struct pp_registration *out, struct pp_mr_why *why);
void pp_registration_end(const struct pp_registrar *r, struct pp_registration *reg);

/* Returns true if the memory is known to be the registered memory. */
bool pp_registration_holds(const struct pp_registrar *r, const struct pp_registration *reg);

/* Does the range lie within the allocation? */
bool pp_is_within(const struct pp_mem *mem, uint64_t addr, uint64_t length);

/* Does a cache make room and try again after @error? */
bool pp_is_shortage(int error);

/* "a dma-buf of the GPU's driver" */
const char *pp_mr_way_name(enum pp_mr_way way);

#endif
