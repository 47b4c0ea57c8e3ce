/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard: after free callbacks have returned, it watches the memory of their pins
 * for a while. A write there is DMA that the callback should have stopped. API lock
 * held for all functions.
 */
#ifndef _EMUGPU_GUARD_H
#define _EMUGPU_GUARD_H

#include <linux/types.h>

struct emugpu_pin;

/* Sets the time to watch; 0: off. -EINVAL: too long */
int emugpu_guard_set(u32 ms);

/* The callback of @pin has returned: the next emugpu_guard_look() watches its memory. */
void emugpu_guard_add(const struct emugpu_pin *pin);

/*
 * Watches the added memory. Meanwhile these wait: copies by the GPU, threads that need
 * the API lock, and first accesses to a page of a CPU mapping.
 */
void emugpu_guard_look(void);

#endif
