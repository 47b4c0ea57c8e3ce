// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tool/util/grow.h"
#include "recording.h"

void recording_add(struct recording *recording, const struct event *event)
{
	recording->events = grow(recording->events, recording->count, sizeof(*event));
	recording->events[recording->count++] = *event;
}

void recording_forget(struct recording *recording, size_t from)
{
	recording->count = from;
}

void recording_free(struct recording *recording)
{
	free(recording->events);
	*recording = (struct recording) { 0 };
}

bool event_begins(const struct event *event, const char *prefix)
{
	return !strncmp(event->text, prefix, strlen(prefix));
}

unsigned int recording_count_of(const struct recording *recording, const char *prefix)
{
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < recording->count; i++)
		count += recording->events[i].side == EVENT_KERNEL && event_begins(&recording->events[i], prefix);
	return count;
}

const struct event *recording_find(const struct recording *recording, enum event_side side, unsigned int number)
{
	size_t i;

	for (i = 0; i < recording->count; i++)
		if (recording->events[i].side == side && recording->events[i].number == number)
			return &recording->events[i];
	return NULL;
}

unsigned int event_us(const struct event *event)
{
	const char *in = strstr(event->text, " in ");
	unsigned int us;

	return in && sscanf(in, " in %u us", &us) == 1 ? us : 0;
}

/* Length of the event's kind, which is the first two words: "ioctl 0xc010dd01", "close of", "put_pages by". */
static size_t kind_length(const char *text)
{
	size_t first = strcspn(text, " ");

	return text[first] ? first + 1 + strcspn(text + first + 1, " ") : first;
}

int event_compare(const struct event *a, const struct event *b)
{
	size_t one = kind_length(a->text), other = kind_length(b->text);

	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	if (one != other)
		return one < other ? -1 : 1;
	return strncmp(a->text, b->text, one);
}

bool event_is_like(const struct event *a, const struct event *b)
{
	return !event_compare(a, b);
}
