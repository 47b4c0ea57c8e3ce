/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tombstones: pins that have ended. The emulator keeps struct emugpu_pin, and fills the page
 * table with 0x6b. So a consumer that reads the table too late always reads poison. Also, the
 * emulator can tell a put that lost the race against the free callback (allowed) from a second put
 * (a violation).
 *
 * Opening a pin frees surplus tombstones. A tombstone is surplus if
 *	- more than 2048 pins with the same final state are tombstones, and this tombstone is the oldest,
 *	- all put and map calls that began before the pin's end have returned, and
 *	- its consumer has no table or mapping of the pin left to free.
 */
#ifndef _EMUGPU_GRAVES_H
#define _EMUGPU_GRAVES_H

#include <linux/list.h>
#include <linux/types.h>

#include "pin.h"

/* Makes @pin a tombstone with the final @state. All functions here take the map lock, unless stated otherwise. */
void emugpu_tombstones_add(struct emugpu_pin *pin, enum emugpu_pin_state state);

/*
 * Frees surplus tombstones. Called only when a pin is opened, never by a revocation: consumers that
 * waited for a revocation still find all its tombstones. API lock and map lock held.
 */
void emugpu_tombstones_trim(void);

/* Frees the tombstones of one consumer (NULL: of all). Reports leaks and late writes by the consumer. */
void emugpu_tombstones_clear(const char *consumer);

/*
 * Called when @process has ended: no thread of the process can free a page table any more. Reports
 * each unfreed table that the callback certainly could free. emugpu_tombstones_clear() reports
 * all other unfreed tables.
 */
void emugpu_tombstones_process_gone(const struct pid *process);

/*
 * A running put or map call, which may wait for the API lock. Tombstones of pins that end during
 * the call are kept, whatever their number, so that the call finds its pin.
 */
struct emugpu_tombstones_call {
	struct list_head node;
	u64 since;	/* number of pins that had ended before the call */
};

void emugpu_tombstones_call_begins(struct emugpu_tombstones_call *call);
void emugpu_tombstones_call_ends(struct emugpu_tombstones_call *call);

#endif
