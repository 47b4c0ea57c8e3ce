/* SPDX-License-Identifier: MIT */
#ifndef PP_REGION_H
#define PP_REGION_H

#include <linux/types.h>
#include <peerpin.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "libpeerpin.h"
#include "lib/cuda/process.h"

/**
 * struct pp_ctx - one open /dev/peerpin
 * @fd: descriptor of the file
 * @mark: mark of the process that opened the file (process.h)
 * @epochs: revocation page: words of regions, then of watches
 * @bytes: bytes of @epochs. A kernel module without watches has no words of watches
 * @watches: true: the context may have watches
 * @pinned: one bit for each region id; 1: pinned through this context, not unpinned yet
 */
struct pp_ctx {
	int fd;
	uint64_t mark;
	_Atomic(uint32_t) *epochs;
	size_t bytes;
	atomic_bool watches;
	_Atomic(uint64_t) pinned[PEERPIN_MAX_REGIONS / 64];
};

/* Is the calling process a child of fork(), not the process that opened the context? */
static inline int pp_ctx_is_foreign(const struct pp_ctx *ctx)
{
	return !pp_process_is(ctx->mark);
}

/**
 * pp_pin_as - pp_pin_with() for a caller that has queried CUDA already
 * @provider: enum peerpin_provider
 */
int pp_pin_as(struct pp_ctx *ctx, uint64_t addr, uint64_t length,
	      uint32_t provider, uint32_t flags, struct pp_region *out,
	      struct pp_why *why);

/* Ends all watches of @ctx. */
void pp_unwatch_all(struct pp_ctx *ctx);

/* If PEERPIN_DEBUG=1, says what became of a pin. @error: 0, or -errno and @why; @region: only if @error is 0 */
void pp_region_debug(uint64_t addr, uint64_t length, int error, const struct pp_region *region,
		     const struct pp_why *why);

#endif
