/* SPDX-License-Identifier: MIT */
/* The events recorded in a run without faults; later runs inject faults at these events. */
#ifndef VERIFY_RECORDING_H
#define VERIFY_RECORDING_H

#include <stdbool.h>
#include <stddef.h>

enum event_side {
	EVENT_KERNEL,		/* calls of the driver, seen by the emulator */
	EVENT_USER,		/* calls of the test program */
};

/**
 * struct event - a recorded call
 * @number: number of the call on its side, from 1
 * @text: the call, and its caller or object; for calls of the test also their duration, "in N us"
 */
struct event {
	enum event_side side;
	unsigned int number;
	char text[96];
};

struct recording {
	struct event *events;
	size_t count;
};

void recording_add(struct recording *recording, const struct event *event);
void recording_free(struct recording *recording);

/* Drops all but the first @from events. */
void recording_forget(struct recording *recording, size_t from);

/* Number of events of EVENT_KERNEL that begin with @prefix */
unsigned int recording_count_of(const struct recording *recording, const char *prefix);

/* Returns NULL if there is no such event. */
const struct event *recording_find(const struct recording *recording, enum event_side side, unsigned int number);

/* Duration of the call in microseconds; 0: unknown */
unsigned int event_us(const struct event *event);

/* Whether both events are of one kind, such as "ioctl 0xc010dd01" */
bool event_is_like(const struct event *a, const struct event *b);

/* Orders events by kind, for qsort(): 0 if both are of one kind */
int event_compare(const struct event *a, const struct event *b);

bool event_begins(const struct event *event, const char *prefix);

#endif
