/* SPDX-License-Identifier: MIT */
/* peer: which contexts have been given access to the memory of which others. */
#ifndef PEER_H
#define PEER_H

#include "ctx.h"

/* peer_drop_all - at the end of a context; library lock held */
void peer_drop_all(struct CUctx_st *ctx);

#endif
