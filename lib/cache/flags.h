/* SPDX-License-Identifier: MIT */
/* The kinds of pins that a cache makes. */
#ifndef PP_FLAGS_H
#define PP_FLAGS_H

#include <linux/types.h>
#include <peerpin.h>
#include <stdbool.h>

/* Revocable (no flags), or persistent. An unknown flag may mean a pin that no method of this library can judge. */
static inline bool pp_flags_are_known(uint32_t flags)
{
	return !flags || (flags & PEERPIN_PIN_PERSISTENT && !(flags & ~(PEERPIN_PIN_PERSISTENT | PEERPIN_PIN_PCIE)));
}

#endif
