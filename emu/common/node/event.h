/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events: the calls of consumers that matter, in the order they came. A test
 * has something happen at the n-th, which puts each of the points where memory
 * can be freed or a process die within its reach.
 *
 * What is called in a free callback is none: nothing else can come between.
 */
#ifndef _EMUGPU_EVENT_H
#define _EMUGPU_EVENT_H

#include <linux/types.h>

#include "emugpu.h"

struct nvidia_p2p_page_table;

/*
 * A call on @table, or on none, NULL, is about to return without error, or has just
 * begun: see the kinds. No lock held; returns when what was planned has been done, or
 * has to wait for this thread, or takes longer than some seconds. @caller as EMUGPU_CALLER
 */
void emugpu_event_happens(enum emugpu_event_kind kind, const struct nvidia_p2p_page_table *table, const void *caller);

/* Forgets what happened, and has @action done at the @nth event from now on; 0: at none. */
void emugpu_event_plan(u32 nth, enum emugpu_event_action action);

/* How many there were; the first @max of them to user memory. EFAULT, ENOMEM */
int emugpu_event_read(struct emugpu_event __user *buf, u32 max, u32 *count);

/* At unload: nothing planned is under way any more. */
void emugpu_event_exit(void);

#endif
