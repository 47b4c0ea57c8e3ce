// SPDX-License-Identifier: MIT
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tool/util/grow.h"
#include "calls.h"
#include "scenarios.h"

enum { ALLOC_FULL = 64 };

/* A full run makes the three passes in this order. PASS_FIRST: scenarios with @first of struct scenario */
enum pass {
	PASS_FIRST,
	PASS_QUICK,
	PASS_FULL,
};

/* struct sink - the output list, and the inputs from which scenarios are made. @calls: of @recording, by side */
struct sink {
	struct scenarios *out;
	const struct row *row;
	enum boot boot;
	enum pass pass;
	const struct recording *recording;
	struct calls calls[2];
};

/* ---- one scenario ---------------------------------------------------------------- */

static struct scenario make(const struct row *row, enum boot boot, unsigned int a, unsigned int b)
{
	struct scenario s = { .row = row, .boot = boot, .tries = row->tries };
	int length = snprintf(s.id, sizeof(s.id), "%s%s", boot_name(boot), *row->name ? "/" : "");

	snprintf(s.id + length, sizeof(s.id) - (size_t)length, row->name, a, b);
	snprintf(s.keys, sizeof(s.keys), row->keys, a, b);
	if (boot == BOOT_OTHER_NVIDIA)
		snprintf(s.keys, sizeof(s.keys), "may-refuse=1");
	if (boot == BOOT_IOMMU || boot == BOOT_IOMMU_LAZY)
		s.tries |= TRIES_IOMMU;
	return s;
}

static bool has(const struct scenarios *scenarios, const char *id)
{
	size_t i;

	for (i = 0; i < scenarios->count; i++)
		if (!strcmp(scenarios->at[i].id, id))
			return true;
	return false;
}

static void put(const struct sink *sink, unsigned int a, unsigned int b)
{
	struct scenario scenario = make(sink->row, sink->boot, a, b);
	struct scenarios *out = sink->out;

	if (has(out, scenario.id))
		return;
	scenario.first = sink->pass == PASS_FIRST;
	out->at = grow(out->at, out->count, sizeof(*out->at));
	out->at[out->count++] = scenario;
}

/* Parses the numbers of @id. The id belongs to this row if formatting these numbers gives @id again. */
static bool row_reads(const struct row *row, enum boot boot, const char *id, struct scenario *out)
{
	const char *name = strchr(id, '/');
	unsigned int a = 0, b = 0;

	if (name)
		sscanf(name + 1, row->name, &a, &b);
	*out = make(row, boot, a, b);
	return !strcmp(out->id, id);
}

int scenario_parse(const char *id, struct scenario *out)
{
	const struct row *row;
	unsigned int i;
	int boot;

	for (boot = 0; boot < NR_BOOTS; boot++)
		for (i = 0; (row = row_at(i)); i++)
			if (row_reads(row, (enum boot)boot, id, out))
				return 0;
	return -EINVAL;
}

/* ---- the scenarios of a row ------------------------------------------------------ */

static unsigned int limit(const struct sink *sink)
{
	if (sink->pass == PASS_FIRST)
		return sink->row->first;
	return sink->pass == PASS_FULL ? UINT_MAX : sink->row->quick;
}

/*
 * Selects @most of the numbers 1 to @n, evenly spread: returns whether @i is selected. PASS_FIRST selects the middle of
 * each part, and not its end: at the test's last call, little is left to go wrong.
 */
static bool is_spread(const struct sink *sink, unsigned int i, unsigned int n, unsigned int most)
{
	unsigned long shift = sink->pass == PASS_FIRST ? n / 2 : 0;

	return n <= most || (shift + (unsigned long)i * most) / n != (shift + (unsigned long)(i - 1) * most) / n;
}

static unsigned int nr_values(const struct sink *sink)
{
	if (sink->pass == PASS_FIRST)
		return sink->row->first;
	return sink->pass == PASS_FULL ? sink->row->nr_values : sink->row->quick_values;
}

static void put_values(const struct sink *sink)
{
	unsigned int i;

	for (i = 0; i < nr_values(sink); i++)
		put(sink, sink->row->values[i], 0);
}

static void put_range(const struct sink *sink, unsigned int n)
{
	unsigned int i;

	for (i = 1; i <= n; i++)
		if (is_spread(sink, i, n, limit(sink)))
			put(sink, i, 0);
}

static void put_alloc(const struct sink *sink, unsigned int from, unsigned int to)
{
	for (; from <= to; from++)
		put(sink, from, 0);
}

static unsigned int count_ends(const struct calls *calls)
{
	unsigned int ends = 0;
	size_t i;

	for (i = 0; i < calls->count; i++)
		ends += call_is_end(&calls->at[i]);
	return ends;
}

/* Puts the first and the last event of each kind, and about @between of the other events. */
static void put_events(const struct sink *sink, enum event_side side, unsigned int between)
{
	const struct calls *calls = &sink->calls[side];
	unsigned int i, n = (unsigned int)calls->count, ends = count_ends(calls), end = 0;

	for (i = 1; i <= n; i++)
		if (call_is_end(&calls->at[i - 1]) ? is_spread(sink, ++end, ends, limit(sink)) :
						     is_spread(sink, i, n, between))
			put(sink, i, 0);
}

static bool uses_adapter(const struct calls *calls)
{
	size_t i;

	for (i = 0; i < calls->count; i++)
		if (strstr(calls->at[i].event->text, "/dev/infiniband/"))
			return true;
	return false;
}

/* Puts the middle event of each kind. */
static void put_middles(const struct sink *sink, const struct calls *calls)
{
	const struct kind *kind;
	const struct call *call;
	unsigned int nth;

	for (kind = calls->kinds; kind < calls->kinds + calls->nr_kinds; kind++)
		for (nth = 0, call = calls->at; call < calls->at + calls->count; call++)
			if (call->kind == kind && nth++ == kind->count / 2)
				put(sink, call->event->number, 0);
}

/* The first pass also revokes at the middle event of each kind: a free races with each function in another way. */
static void put_kernel(const struct sink *sink)
{
	put_events(sink, EVENT_KERNEL, limit(sink) / 2);
	if (sink->pass == PASS_FIRST && sink->boot == BOOT_PLAIN && strstr(sink->row->keys, ":revoke"))
		put_middles(sink, &sink->calls[EVENT_KERNEL]);
}

static void put_registrations(const struct sink *sink)
{
	unsigned int n = recording_count_of(sink->recording, "get_pages"), nth = 0;
	const struct calls *calls = &sink->calls[EVENT_KERNEL];
	size_t i;

	if (!uses_adapter(&sink->calls[EVENT_USER]))
		return;
	for (i = 0; i < calls->count; i++)
		if (event_begins(calls->at[i].event, "get_pages") && is_spread(sink, ++nth, n, limit(sink)))
			put(sink, calls->at[i].event->number, 0);
}

static void put_close(const struct sink *sink)
{
	const struct calls *calls = &sink->calls[EVENT_USER];
	size_t i;

	for (i = 0; i < calls->count; i++)
		if (event_begins(calls->at[i].event, "close")) {
			put(sink, calls->at[i].event->number, 0);
			return;
		}
}

/*
 * A driver may wait for a transfer only in the callback of the destination, or only in that of the source. The callback
 * that comes first shows the error, so try both orders: if the time is odd, the shim revokes the oldest memory first.
 */
static void put_during(const struct sink *sink, const struct event *event)
{
	unsigned int i, us;

	for (i = 0; i < nr_values(sink); i++) {
		us = (unsigned long)event_us(event) * sink->row->values[i] / 100;
		put(sink, event->number, i % 2 ? us & ~1u : us | 1);
	}
}

static bool is_likelier(const struct call *call, const struct call *than)
{
	if (call->kind->count != than->kind->count)
		return call->kind->count > than->kind->count;
	return event_us(call->event) > event_us(than->event);
}

/*
 * Returns the call that most probably transfers data: of the kinds with a long call, the longest call of the kind that has
 * the most calls. The longest of all calls may be another one: a busy host stops a VM for many milliseconds.
 */
static const struct event *find_transfer(const struct calls *calls)
{
	const struct call *call, *found = NULL;

	for (call = calls->at; call < calls->at + calls->count; call++)
		if (call->is_long && (!found || is_likelier(call, found)))
			found = call;
	return found->event;
}

/* The first pass revokes only during the call that most probably is a transfer. */
static void put_long(const struct sink *sink)
{
	const struct calls *calls = &sink->calls[EVENT_USER];
	const struct call *call;
	unsigned int nth = 0;

	if (sink->pass == PASS_FIRST) {
		if (calls->nr_long)
			put_during(sink, find_transfer(calls));
		return;
	}
	for (call = calls->at; call < calls->at + calls->count; call++)
		if (call->is_long && is_spread(sink, ++nth, calls->nr_long, limit(sink)))
			put_during(sink, call->event);
}

/* Whether the call is the middle one of the long calls of its kind. Short calls are often calls that fail. */
static bool is_middle(const struct call *call)
{
	return call->is_long && call->nth == call->kind->nr_long / 2;
}

/*
 * Puts the middle call of each kind that may transfer data, in the first pass only of the kinds with the most calls. After
 * the device is unbound, only a call that uses the device shows the error, and a test ends with the first call that fails.
 */
static void put_unbind(const struct sink *sink)
{
	const struct calls *calls = &sink->calls[EVENT_USER];
	const struct call *call;

	for (call = calls->at; call < calls->at + calls->count; call++)
		if (is_middle(call) && (sink->pass != PASS_FIRST || call->kind->rank < limit(sink)))
			put(sink, call->event->number, 0);
	if (sink->pass != PASS_FIRST || !calls->nr_long)
		put_events(sink, EVENT_USER, 0);
}

/* RDMA adapters map queues, and no GPU memory. */
static bool is_mmap(const struct event *event)
{
	return event_begins(event, "mmap ") && !strstr(event->text, "/dev/infiniband/");
}

/*
 * Returns a call before which the test probably has GPU memory mapped: the first munmap() after the first mmap(), or else
 * the last call. NULL: the test maps nothing.
 */
static const struct event *find_mapped(const struct calls *calls)
{
	const struct call *call, *end = calls->at + calls->count;

	for (call = calls->at; call < end && !is_mmap(call->event); call++)
		;
	if (end - call < 2)
		return NULL;
	while (++call < end)
		if (event_begins(call->event, "munmap "))
			return call->event;
	return end[-1].event;
}

/* The first pass also revokes while a CPU mapping exists. Its other revocations may all come between two mappings. */
static void put_user(const struct sink *sink)
{
	const struct event *mapped = find_mapped(&sink->calls[EVENT_USER]);

	put_events(sink, EVENT_USER, limit(sink) / 2);
	if (sink->pass == PASS_FIRST && mapped && strstr(sink->row->keys, ":revoke"))
		put(sink, mapped->number, 0);
}

static void put_row(const struct sink *sink)
{
	switch (sink->row->series) {
	case SERIES_PINS:
		put_range(sink, recording_count_of(sink->recording, "get_pages"));
		break;
	case SERIES_MAPS:
		put_range(sink, recording_count_of(sink->recording, "dma_map_pages") +
				recording_count_of(sink->recording, "dma_buf_map_attachment"));
		break;
	case SERIES_KERNEL:
		put_kernel(sink);
		break;
	case SERIES_REGISTRATIONS:
		put_registrations(sink);
		break;
	case SERIES_USER:
		put_user(sink);
		break;
	case SERIES_ENDS:
		put_events(sink, EVENT_USER, 0);
		break;
	case SERIES_EACH:
		put_events(sink, EVENT_USER, sink->pass == PASS_FULL ? UINT_MAX : 0);
		break;
	case SERIES_UNBIND:
		put_unbind(sink);
		break;
	case SERIES_CLOSE:
		put_close(sink);
		break;
	case SERIES_LONG:
		put_long(sink);
		break;
	case SERIES_ALLOC:
		put_alloc(sink, 1, sink->row->first);
		break;
	case SERIES_VALUES:
		put_values(sink);
		break;
	case SERIES_IMPORTS:
		if (recording_count_of(sink->recording, "dma_buf_map_attachment"))
			put_values(sink);
		break;
	}
}

/* ---- the scenarios of all rows and boots ----------------------------------------- */

static bool runs_in(const struct sink *sink)
{
	unsigned int boots = sink->pass == PASS_FULL ? sink->row->boots : sink->row->quick_boots;

	return boots & (1u << sink->boot);
}

void scenarios_before(struct scenarios *out)
{
	struct sink sink = { .out = out, .pass = PASS_FIRST, .boot = BOOT_PLAIN };
	unsigned int i;

	for (i = 0; (sink.row = row_at(i)); i++)
		if (sink.row->series == SERIES_VALUES)
			put_values(&sink);
}

static void boot_scenarios(struct sink *sink)
{
	unsigned int i;

	for (i = 0; (sink->row = row_at(i)); i++)
		if (runs_in(sink))
			put_row(sink);
}

static void all_boots(struct sink *sink, enum pass pass, const enum boot *order)
{
	size_t i;

	sink->pass = pass;
	for (i = 0; i < NR_BOOTS; i++) {
		sink->boot = order[i];
		boot_scenarios(sink);
	}
}

/* Each pass begins with the boot with which the pass before ends, so that one VM runs the scenarios of both. */
void scenarios_after(struct scenarios *out, enum verify_level level, const struct recording *recording)
{
	static const enum boot first[NR_BOOTS] = {
		BOOT_PLAIN, BOOT_OTHER_NVIDIA, BOOT_HIGH_MEMORY, BOOT_NO_SHARING, BOOT_IOMMU_LAZY, BOOT_IOMMU,
	};
	static const enum boot quick[NR_BOOTS] = {
		BOOT_IOMMU, BOOT_NO_SHARING, BOOT_IOMMU_LAZY, BOOT_HIGH_MEMORY, BOOT_OTHER_NVIDIA, BOOT_PLAIN,
	};
	static const enum boot full[NR_BOOTS] = {
		BOOT_PLAIN, BOOT_NO_SHARING, BOOT_IOMMU_LAZY, BOOT_HIGH_MEMORY, BOOT_OTHER_NVIDIA, BOOT_IOMMU,
	};
	struct sink sink = { .out = out, .recording = recording };

	calls_make(&sink.calls[EVENT_KERNEL], recording, EVENT_KERNEL);
	calls_make(&sink.calls[EVENT_USER], recording, EVENT_USER);
	all_boots(&sink, PASS_FIRST, first);
	all_boots(&sink, PASS_QUICK, quick);
	if (level == LEVEL_FULL)
		all_boots(&sink, PASS_FULL, full);
	calls_free(&sink.calls[EVENT_KERNEL]);
	calls_free(&sink.calls[EVENT_USER]);
}

static const struct row *alloc_row(void)
{
	unsigned int i = 0;

	while (row_at(i)->series != SERIES_ALLOC)
		i++;
	return row_at(i);
}

/* Each call adds a larger batch. So few boots are needed. */
void scenarios_alloc(struct scenarios *out, enum verify_level level, unsigned int done)
{
	const struct sink sink = { .out = out, .row = alloc_row(), .boot = BOOT_PLAIN, .pass = PASS_QUICK };
	unsigned int most = level == LEVEL_FULL ? ALLOC_FULL : sink.row->quick, to = 3 * done;

	put_alloc(&sink, done + 1, to < most ? to : most);
}

void scenarios_free(struct scenarios *scenarios)
{
	free(scenarios->at);
	*scenarios = (struct scenarios) { 0 };
}
