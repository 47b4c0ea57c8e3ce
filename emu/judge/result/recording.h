/* SPDX-License-Identifier: MIT */
/* The events of a run without faults: where the faults of the other runs go. */
#ifndef VERIFY_RECORDING_H
#define VERIFY_RECORDING_H

#include <stdbool.h>
#include <stddef.h>

enum event_side {
	EVENT_KERNEL,		/* what the driver calls, as the emulator sees it */
	EVENT_USER,		/* what the test program calls */
};

/**
 * struct event - one of them
 * @number: from 1, on its side
 * @text: what is called, and by whom or on what; of the user's, "in N us"
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

/* All but the first @from events. */
void recording_forget(struct recording *recording, size_t from);

unsigned int recording_count(const struct recording *recording, enum event_side side);

/* How many of the kernel's events begin with @prefix. */
unsigned int recording_count_of(const struct recording *recording, const char *prefix);

/* NULL: it was not recorded. */
const struct event *recording_find(const struct recording *recording, enum event_side side, unsigned int number);

/* No event of the same side before it, or after it, is of its kind (the same call with the same command). */
bool recording_is_first(const struct recording *recording, const struct event *event);
bool recording_is_last(const struct recording *recording, const struct event *event);

/* How long the call took, microseconds; 0: that is not known. */
unsigned int event_us(const struct event *event);

bool event_begins(const struct event *event, const char *prefix);

#endif
