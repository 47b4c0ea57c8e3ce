/* SPDX-License-Identifier: MIT */
/*
 * event: handles of events. An event refers to the last mark recorded in it. A waiter
 * keeps a reference to that mark, even if the event is recorded again.
 */
#ifndef EVENT_H
#define EVENT_H

#include "engine.h"

/* event_end_all - called at the end of a context; engine lock held */
void event_end_all(struct engine *e);

#endif
