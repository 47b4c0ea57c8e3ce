/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard: looks at the memory of revoked pins after their free callbacks have returned. A write to this memory is DMA
 * that the callback should have stopped. A CPU mapping of this memory should have been removed by the callback, even if
 * no process writes now. API lock held for all functions.
 */
#ifndef _EMUGPU_GUARD_H
#define _EMUGPU_GUARD_H

#include <linux/types.h>

struct emugpu_pin;

/*
 * @ms: time to watch for writes, in milliseconds; 0: off. @mapped: search for CPU mappings. Returns -EINVAL if @ms is
 * above 10000.
 */
int emugpu_guard_set(u32 ms, bool mapped);

/* Called when the callback of @pin has returned. The next emugpu_guard_look() looks at the pin's memory. */
void emugpu_guard_add(const struct emugpu_pin *pin);

/*
 * Looks at the memory of all pins added by emugpu_guard_add(). Meanwhile the following wait:
 *	- copies by the GPU
 *	- threads that need the API lock
 *	- first accesses to a page of a CPU mapping
 */
void emugpu_guard_look(void);

#endif
