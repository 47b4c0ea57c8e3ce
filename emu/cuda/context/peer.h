/* SPDX-License-Identifier: MIT */
/* peer: access of contexts to memory of contexts on other GPUs. */
#ifndef PEER_H
#define PEER_H

#include "emu/cuda/memory/alloc.h"
#include "ctx.h"

/*
 * peer_sees - whether @ctx may look up @info: memory of its GPU, host memory, VMM memory, or memory
 * of a context to which @ctx has access
 */
bool peer_sees(const struct CUctx_st *ctx, const struct alloc_info *info);

/* peer_drop_all - called at the end of a context; library lock held */
void peer_drop_all(struct CUctx_st *ctx);

#endif
