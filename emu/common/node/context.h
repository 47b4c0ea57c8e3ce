/* SPDX-License-Identifier: GPL-2.0 */
/* A context: a pair of tokens (nv-p2p.h) that all blocks of the context share. */
#ifndef _EMUGPU_CONTEXT_H
#define _EMUGPU_CONTEXT_H

#include <linux/types.h>

#include "object.h"

struct emugpu_context {
	struct emugpu_object object;
	u64 p2p_token;	/* random, not 0 */
	u32 va_space;	/* not 0 */
};

struct emugpu_context *emugpu_context_new(void);

/* The context that contains @object; NULL if @object is of another kind */
struct emugpu_context *emugpu_context_of(struct emugpu_object *object);

/* @context may be NULL */
void emugpu_context_put(struct emugpu_context *context);

#endif
