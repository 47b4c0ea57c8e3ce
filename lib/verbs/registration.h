/* SPDX-License-Identifier: MIT */
/* One memory region, by whatever way works. */
#ifndef PP_REGISTRATION_H
#define PP_REGISTRATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include "libpeerpin-verbs.h"

/**
 * struct pp_registrar - what registrations are made of
 * @ctx: NULL: /dev/peerpin could not be opened
 * @ctx_error: why
 */
struct pp_registrar {
	struct ibv_pd *pd;
	int access;
	struct pp_ctx *ctx;
	int ctx_error;
};

/**
 * struct pp_registration - a struct pp_mr and what keeps it honest
 * @entry: of the cache; each get() finds the same
 * @region: what is pinned as well: of GPU memory what the dma-buf is of, of host
 *	memory for no other reason than that its end is told
 * @pinned: @region holds
 * @buffer_id: CUDA's id of the allocation at @mr.addr; 0 for host memory
 */
struct pp_registration {
	struct pp_mr mr;	/* first */
	_Atomic(const struct pp_cache_entry *) entry;
	struct pp_region region;
	bool pinned;
	uint64_t buffer_id;
};

/**
 * pp_registration_make - register [@addr, @addr + @length)
 * @watched: pin host memory too, so that its end is told
 * @why: filled in on failure
 */
int pp_registration_make(const struct pp_registrar *r, uint64_t addr, uint64_t length, bool watched,
			 struct pp_registration *out, struct pp_mr_why *why);
void pp_registration_end(const struct pp_registrar *r, struct pp_registration *reg);

/* Has the memory not been freed since, as far as can be known? */
bool pp_registration_holds(const struct pp_registrar *r, const struct pp_registration *reg);

/* Is the range one allocation's? */
bool pp_is_within(const struct pp_mem *mem, uint64_t addr, uint64_t length);

/* A cache is to make room and try again. */
bool pp_is_shortage(int error);

#endif
