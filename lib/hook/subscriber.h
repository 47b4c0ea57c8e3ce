/* SPDX-License-Identifier: MIT */
/* The subscribers: pp_hook_add(), pp_hook_remove(). */
#ifndef PP_HOOK_SUBSCRIBER_H
#define PP_HOOK_SUBSCRIBER_H

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic unsigned int pp_subscriber_count __attribute__((visibility("hidden")));

/* Relaxed: a subscriber added before the free began is counted. Only calls of later subscribers may be missed. */
static inline unsigned int pp_subscribers(void)
{
	return atomic_load_explicit(&pp_subscriber_count, memory_order_relaxed);
}

/* Calls all subscribers before [addr, addr + length) is freed. */
void pp_tell(uint64_t addr, uint64_t length);

#endif
