/* SPDX-License-Identifier: MIT */
#ifndef PP_REGION_H
#define PP_REGION_H

#include <linux/types.h>
#include <peerpin.h>
#include <stdatomic.h>
#include <stdint.h>
#include "libpeerpin.h"
#include "lib/cuda/process.h"

/**
 * struct pp_ctx - one open /dev/peerpin
 * @fd: the file
 * @mark: process that opened it (process.h)
 * @epochs: revocation page, PEERPIN_MAX_REGIONS words
 * @pinned: a bit per region id: pinned through this context and not unpinned yet
 */
struct pp_ctx {
	int fd;
	uint64_t mark;
	_Atomic(uint32_t) *epochs;
	_Atomic(uint64_t) pinned[PEERPIN_MAX_REGIONS / 64];
};

/* Is the calling process another one than the opener, that is a child of fork()? */
static inline int pp_ctx_is_foreign(const struct pp_ctx *ctx)
{
	return ctx->mark != pp_process_mark();
}

/**
 * pp_pin_as - pp_pin_with() for a caller that has queried CUDA already
 * @provider: enum peerpin_provider
 */
int pp_pin_as(struct pp_ctx *ctx, uint64_t addr, uint64_t length,
	      uint32_t provider, uint32_t flags, struct pp_region *out,
	      struct pp_why *why);

#endif
