/* SPDX-License-Identifier: MIT */
/* Who wants to be told: pp_hook_add(), pp_hook_remove(). */
#ifndef PP_HOOK_SUBSCRIBER_H
#define PP_HOOK_SUBSCRIBER_H

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic unsigned int pp_subscriber_count __attribute__((visibility("hidden")));

/* relaxed: who was added before a free began was counted before; others may be told or not */
static inline unsigned int pp_subscribers(void)
{
	return atomic_load_explicit(&pp_subscriber_count, memory_order_relaxed);
}

/* Tells all of them that [addr, addr + length) goes. */
void pp_tell(uint64_t addr, uint64_t length);

#endif
