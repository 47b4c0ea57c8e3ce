/* SPDX-License-Identifier: MIT */
/*
 * event: handles of events. An event refers to the mark (engine.h) that was recorded
 * last. A waiter waits for this mark, even if the event is recorded again.
 */
#ifndef EVENT_H
#define EVENT_H

#include "engine.h"

/* event_end_all - free all events of @e when its context ends; engine lock held */
void event_end_all(struct engine *e);

#endif
