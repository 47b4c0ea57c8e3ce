/* SPDX-License-Identifier: MIT */
/* peer: which contexts have been given access to the memory of which others. */
#ifndef PEER_H
#define PEER_H

#include "emu/cuda/memory/alloc.h"
#include "ctx.h"

/* peer_sees - whether @ctx is told of @info: its own GPU's memory, or of a context whose memory it has access to */
bool peer_sees(const struct CUctx_st *ctx, const struct alloc_info *info);

/* peer_drop_all - at the end of a context; library lock held */
void peer_drop_all(struct CUctx_st *ctx);

#endif
