/* SPDX-License-Identifier: MIT */
/* peer: access of contexts to memory of contexts on other GPUs. */
#ifndef PEER_H
#define PEER_H

#include "emu/cuda/memory/alloc.h"
#include "ctx.h"

/*
 * peer_sees - whether @ctx may look up the memory @info: true for memory of the GPU of @ctx, host
 * memory, VMM memory, and memory of a context to which @ctx has access
 */
bool peer_sees(const struct CUctx_st *ctx, const struct alloc_info *info);

/* peer_drop_all - remove the access of @ctx to all other contexts; library lock held */
void peer_drop_all(struct CUctx_st *ctx);

#endif
