/* SPDX-License-Identifier: MIT */
/* stack: each thread's stack of contexts. The top is the current context, which may have ended. */
#ifndef STACK_H
#define STACK_H

#include "ctx.h"

/* stack_top - the current context; NULL: none */
struct CUctx_st *stack_top(void);

/* stack_push - CUDA_ERROR_OUT_OF_MEMORY: the stack is full */
CUresult stack_push(struct CUctx_st *ctx);

/* stack_pop - the stack must not be empty */
void stack_pop(void);

#endif
