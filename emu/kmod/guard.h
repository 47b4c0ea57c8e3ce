/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard: watches the memory of revoked pins for a while after their free callbacks have
 * returned. A write to this memory is DMA that the callback should have stopped. API lock held for
 * all functions.
 */
#ifndef _EMUGPU_GUARD_H
#define _EMUGPU_GUARD_H

#include <linux/types.h>

struct emugpu_pin;

/* Sets the time to watch, in milliseconds; 0: off. Returns -EINVAL if @ms is above 10000. */
int emugpu_guard_set(u32 ms);

/* Called when the callback of @pin has returned. The next emugpu_guard_look() watches the pin's memory. */
void emugpu_guard_add(const struct emugpu_pin *pin);

/*
 * Watches the memory of all pins added by emugpu_guard_add(). Meanwhile the following wait:
 *	- copies by the GPU
 *	- threads that need the API lock
 *	- first accesses to a page of a CPU mapping
 */
void emugpu_guard_look(void);

#endif
