/* SPDX-License-Identifier: MIT */
/* Reasons of failed pins that the library finds, not the kernel. */
#ifndef PP_WHY_H
#define PP_WHY_H

#include <linux/types.h>
#include <peerpin.h>
#include "libpeerpin.h"

/* Sets @why and returns @error. */
static inline int pp_refuse(struct pp_why *why, uint32_t reason, int error)
{
	*why = (struct pp_why){ .reason = reason };
	return error;
}

/*
 * For PEERPIN_REASON_NO_BAR1: asks NVML how much BAR1 space is left on the GPU of
 * @addr. This is slow, so call it only for a failure that is returned to the user.
 */
void pp_why_room(struct pp_why *why, const void *addr);

#endif
