// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include "tool/tool.h"
#include "tool/util/grow.h"
#include "calls.h"

enum { LONG_US = 300 };		/* a shorter call probably does not wait for DMA */

/* Whether a driver may transfer data in the call */
static bool is_transfer(const struct event *event)
{
	static const char *const calls[] = { "ioctl", "read", "write", "pread", "pwrite" };
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (event_begins(event, calls[i]))
			return true;
	return false;
}

static int by_number(const void *a, const void *b)
{
	const struct call *one = a, *other = b;

	return (one->event->number > other->event->number) - (one->event->number < other->event->number);
}

static int by_kind(const void *a, const void *b)
{
	const struct call *one = *(struct call *const *)a, *other = *(struct call *const *)b;
	int order = event_compare(one->event, other->event);

	return order ? order : by_number(one, other);
}

static int by_rank(const void *a, const void *b)
{
	const struct kind *one = *(struct kind *const *)a, *other = *(struct kind *const *)b;

	if (one->count != other->count)
		return one->count > other->count ? -1 : 1;
	return (one->first > other->first) - (one->first < other->first);
}

static void take(struct calls *calls, const struct recording *recording, enum event_side side)
{
	size_t i;

	for (i = 0; i < recording->count; i++) {
		if (recording->events[i].side != side)
			continue;
		calls->at = grow(calls->at, calls->count, sizeof(*calls->at));
		calls->at[calls->count++] = (struct call) { .event = &recording->events[i] };
	}
	if (calls->count)
		qsort(calls->at, calls->count, sizeof(*calls->at), by_number);
	for (i = 0; i < calls->count && calls->at[i].event->number == i + 1; i++)
		;
	calls->count = i;
}

static void add_to(struct kind *kind, struct call *call)
{
	call->kind = kind;
	call->nth = kind->nr_long;
	call->is_long = kind->transfers && event_us(call->event) >= LONG_US;
	kind->nr_long += call->is_long;
	kind->count++;
	kind->last = call->event->number;
}

/* In @sorted, the calls of one kind are neighbours, and in order. */
static void set_kinds(struct calls *calls, struct call *const *sorted)
{
	struct kind *kind = NULL;
	size_t i;

	for (i = 0; i < calls->count; i++) {
		if (!i || !event_is_like(sorted[i]->event, sorted[i - 1]->event)) {
			kind = &calls->kinds[calls->nr_kinds++];
			*kind = (struct kind) {
				.first = sorted[i]->event->number, .transfers = is_transfer(sorted[i]->event),
			};
		}
		add_to(kind, sorted[i]);
		calls->nr_long += sorted[i]->is_long;
	}
}

static void set_ranks(struct calls *calls, struct kind **sorted)
{
	unsigned int rank = 0;
	size_t i;

	for (i = 0; i < calls->nr_kinds; i++)
		sorted[i] = &calls->kinds[i];
	if (calls->nr_kinds)
		qsort(sorted, calls->nr_kinds, sizeof(*sorted), by_rank);
	for (i = 0; i < calls->nr_kinds; i++) {
		sorted[i]->rank = rank;
		rank += sorted[i]->transfers;
	}
}

static void *array(size_t count, size_t size)
{
	void *at = calloc(count, size);

	if (!at && count)
		no_memory();
	return at;
}

void calls_make(struct calls *out, const struct recording *recording, enum event_side side)
{
	struct call **sorted;
	struct kind **ranked;
	size_t i;

	*out = (struct calls) { 0 };
	take(out, recording, side);
	sorted = array(out->count, sizeof(struct call *));
	for (i = 0; i < out->count; i++)
		sorted[i] = &out->at[i];
	if (out->count)
		qsort(sorted, out->count, sizeof(struct call *), by_kind);
	out->kinds = array(out->count, sizeof(*out->kinds));
	set_kinds(out, sorted);
	ranked = array(out->nr_kinds, sizeof(struct kind *));
	set_ranks(out, ranked);
	free(ranked);
	free(sorted);
}

void calls_free(struct calls *calls)
{
	free(calls->at);
	free(calls->kinds);
	*calls = (struct calls) { 0 };
}

bool call_is_end(const struct call *call)
{
	return call->event->number == call->kind->first || call->event->number == call->kind->last;
}
