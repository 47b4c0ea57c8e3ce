/* SPDX-License-Identifier: MIT */
/*
 * event: handles of events. An event is the last mark that was recorded in
 * it: who waits keeps that mark, however often the event is recorded again.
 */
#ifndef EVENT_H
#define EVENT_H

#include "engine.h"

/* event_end_all - at the end of a context; engine lock held */
void event_end_all(struct engine *e);

#endif
