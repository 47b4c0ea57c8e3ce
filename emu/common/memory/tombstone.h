/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tombstones: pins that have ended. The structure is kept, and its page table is filled
 * with 0x6b. A tombstone is freed when another pin is opened, after some two thousand
 * more pins of its kind have ended, but not while a call runs that began before the
 * pin's end, nor while its consumer still has a table or a mapping of it to free. So a
 * consumer that reads the table too late always reads poison. And a put that lost the
 * race against the free callback (allowed) differs from a second put (a violation).
 */
#ifndef _EMUGPU_GRAVES_H
#define _EMUGPU_GRAVES_H

#include <linux/list.h>
#include <linux/types.h>

#include "pin.h"

/* Makes @pin a tombstone with the final @state. All functions here take the map lock, unless stated otherwise. */
void emugpu_tombstones_add(struct emugpu_pin *pin, enum emugpu_pin_state state);

/*
 * Frees surplus tombstones. Called only when a pin is opened: after a revocation of any
 * number of pins, consumers that waited for its end still find all tombstones. API lock
 * and map lock held.
 */
void emugpu_tombstones_trim(void);

/* Frees the tombstones of one consumer (NULL: of all), and reports its leaks and late writes. */
void emugpu_tombstones_clear(const char *consumer);

/*
 * The process has ended: none of its threads can still free a page table. Reports tables
 * not freed, if the callback knew the table. For other pins that were called back,
 * emugpu_tombstones_clear() reports it.
 */
void emugpu_tombstones_process_gone(const struct pid *process);

/*
 * Brackets a put or map call, which may wait for the API lock. Tombstones of pins revoked
 * meanwhile are kept, whatever their number, so the call finds its pin.
 */
struct emugpu_tombstones_call {
	struct list_head node;
	u64 since;	/* number of burials before the call */
};

void emugpu_tombstones_call_begins(struct emugpu_tombstones_call *call);
void emugpu_tombstones_call_ends(struct emugpu_tombstones_call *call);

#endif
