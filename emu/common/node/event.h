/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events: pin, map, unmap and unpin calls of consumers, in order. A test plans an action (revoke
 * memory, kill the process) at the n-th event. So a test can try the action at each event.
 *
 * Calls in a free callback are no events: the API lock is held, so no action can happen there.
 */
#ifndef _EMUGPU_EVENT_H
#define _EMUGPU_EVENT_H

#include <linux/types.h>

#include "emugpu.h"

struct nvidia_p2p_page_table;

/*
 * Records an event on @table (or NULL), at the begin or the successful end of a call: see enum
 * emugpu_event_kind. Then runs the action planned for this event. Returns when the action is done,
 * when the action waits for this thread, or after some seconds. @caller: EMUGPU_CALLER. No lock
 * held.
 */
void emugpu_event_happens(enum emugpu_event_kind kind, const struct nvidia_p2p_page_table *table, const void *caller);

/* The same for a call on a dma-buf by @module. REVOKE may end after the call. Reservation lock held or not. */
void emugpu_event_import(enum emugpu_event_kind kind, const char *module);

/* Clears the record and plans @action at the @nth event from now on; 0: at no event. No lock held. */
void emugpu_event_plan(u32 nth, enum emugpu_event_action action);

/* Copies the first @max events to user memory. Sets *@count to the number of all events. Errors: -EFAULT, -ENOMEM. */
int emugpu_event_read(struct emugpu_event __user *buf, u32 max, u32 *count);

/* At unload: cancels a queued revocation, and waits for a running one. */
void emugpu_event_exit(void);

#endif
