/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard: after free callbacks have returned, it watches the memory of
 * their pins for a while; a write there is one that the callback should have
 * ended. API lock held for all.
 */
#ifndef _EMUGPU_GUARD_H
#define _EMUGPU_GUARD_H

#include <linux/types.h>

struct emugpu_pin;

/* How long to watch; 0: no more. EINVAL: too long */
int emugpu_guard_set(u32 ms);

/* The callback of @pin has returned; its memory is watched by the next look. */
void emugpu_guard_add(const struct emugpu_pin *pin);

/*
 * Watches what was added. Copies by the GPU wait that long, and so does whoever
 * needs the API lock or touches a page of a view for the first time.
 */
void emugpu_guard_look(void);

#endif
