/* SPDX-License-Identifier: MIT */
/* Why a pin failed, as far as the library knows more than the kernel. */
#ifndef PP_WHY_H
#define PP_WHY_H

#include <linux/types.h>
#include <peerpin.h>
#include "libpeerpin.h"

/* For a caller that returns @error. */
static inline int pp_refuse(struct pp_why *why, uint32_t reason, int error)
{
	*why = (struct pp_why){ .reason = reason };
	return error;
}

/*
 * When there was no BAR1 space, ask the management library how much is left on
 * the GPU that @addr lies on. Slow: for a failure that goes to the user.
 */
void pp_why_room(struct pp_why *why, const void *addr);

#endif
