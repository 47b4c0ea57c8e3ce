/* SPDX-License-Identifier: MIT */
/* stack: each thread's contexts. The top one is current; it may have ended. */
#ifndef STACK_H
#define STACK_H

#include "ctx.h"

/* stack_top - NULL: there is none */
struct CUctx_st *stack_top(void);

/* stack_push - CUDA_ERROR_OUT_OF_MEMORY: no room */
CUresult stack_push(struct CUctx_st *ctx);

/* stack_pop - there is one */
void stack_pop(void);

#endif
