/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard: looks at the memory of revoked pins after their free callbacks have returned, and at the
 * memory of revoked dma-bufs after their importers were notified. A write to this memory, and a copy from
 * it, is DMA that the callback should have stopped. A CPU mapping of this memory should have been removed
 * by the callback, even if no process writes now. API lock held for all functions.
 */
#ifndef _EMUGPU_GUARD_H
#define _EMUGPU_GUARD_H

#include <linux/types.h>

#include "monitor.h"

struct emugpu_memory;
struct emugpu_pin;
struct nvidia_p2p_page_table;

/* A consumer that must not use the memory any more. @function: its callback, which has been called; NULL: none */
struct emugpu_consumer {
	char module[EMUGPU_MODULE_LEN];
	const void *function;
};

/*
 * @ms: time to watch for writes and copies, in milliseconds; 0: off. @mapped: search for CPU mappings.
 * Returns -EINVAL if @ms is above 10000.
 */
int emugpu_guard_set(u32 ms, bool mapped);

/* Whether emugpu_guard_set() has set something; no lock needed */
bool emugpu_guard_is_on(void);

/*
 * Called before the memory of a pin or dma-buf is revoked. API lock held. Logs EMUGPU_REVOKED once after each
 * emugpu_guard_set() that turns the guard on: a later IOMMU fault may come from a device that was not stopped.
 */
void emugpu_guard_begin(void);

/* Called when the callback of @pin has returned. The next emugpu_guard_look() looks at the pin's memory. */
void emugpu_guard_add(const struct emugpu_pin *pin);

/* Whether the pin of @table waits for emugpu_guard_look(), which then sets the table's trap (trap.h) */
bool emugpu_guard_has(const struct nvidia_p2p_page_table *table);

/*
 * The same for @npages pages of @memory from @first_page on. @users: references of the revoked dma-buf to each
 * page in the counts of BAR1. A page with more references has other users, which may write, so the guard skips it.
 */
void emugpu_guard_add_memory(struct emugpu_memory *memory, u32 first_page, u32 npages, u32 users,
			     const struct emugpu_consumer *consumer);

/*
 * Looks at the memory of all pins added by emugpu_guard_add(). Meanwhile the following wait:
 *	- copies by the GPU
 *	- threads that need the API lock
 *	- first accesses to a page of a CPU mapping
 */
void emugpu_guard_look(void);

#endif
