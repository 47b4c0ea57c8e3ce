// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "stream.h"

struct result *stream_current(const struct stream *stream)
{
	return stream->current < 0 ? NULL : &stream->results->at[stream->current];
}

/* Cuts the next word off *@rest and returns the word; never returns NULL. */
static const char *word(char **rest)
{
	const char *word = strsep(rest, " ");

	if (!*rest)
		*rest = strchr(word, '\0');
	return word;
}

static bool take_event(struct stream *stream, char *rest)
{
	struct event event = { 0 };
	const char *side = word(&rest);

	if (strcmp(side, "kernel") && strcmp(side, "user"))
		return false;
	event.side = *side == 'k' ? EVENT_KERNEL : EVENT_USER;
	event.number = (unsigned int)strtoul(word(&rest), NULL, 10);
	copy_plain(event.text, sizeof(event.text), rest);
	if (!event.number)
		return false;
	recording_add(stream->recording, &event);
	return true;
}

static bool take_test(struct result *result, const char *how)
{
	if (!*how)
		return false;
	copy_plain(result->test, sizeof(result->test), how);
	return true;
}

static bool take_finding(struct result *result, char *rest)
{
	const char *rule = word(&rest);

	if (!*rule)
		return false;
	result_find(result, rule, rest);
	return true;
}

static bool take_end(struct stream *stream, struct result *result, const char *how)
{
	if (strcmp(how, "clean") && strcmp(how, "dirty"))
		return false;
	result->ended = true;
	result->clean = *how == 'c';
	stream->current = -1;
	return true;
}

static bool take_fired(struct result *result, const char *how)
{
	if (strcmp(how, "yes") && strcmp(how, "no"))
		return false;
	result->armed = true;
	result->fired = *how == 'y';
	return true;
}

static bool take_trial(struct result *result, const char *what)
{
	struct trial *t = &result->trial;

	t->told = sscanf(what, "%u pins %u own %u calls %u devices", &t->pins, &t->own, &t->calls, &t->devices) == 4;
	return t->told;
}

static bool take_revoked(struct result *result, const char *what)
{
	struct revoked *r = &result->revoked;

	return sscanf(what, "%u callbacks %u notified %u mapped", &r->callbacks, &r->notified, &r->mapped) == 3;
}

static bool take_bytes(struct result *result, const char *sum)
{
	return sscanf(sum, "%" SCNx64, &result->trial.bytes) == 1;
}

static bool take_untold(struct result *result, const char *why)
{
	copy_plain(result->untold, sizeof(result->untold), why);
	return *why;
}

static bool take_refused(struct result *result, const char *why)
{
	copy_plain(result->refused, sizeof(result->refused), why);
	return *why;
}

static bool take_log(struct result *result, const char *text)
{
	result_log(result, text);
	return true;
}

/* The guest repeats a scenario after an unclear outcome: drops the result and the events of the first try. */
static bool begin_again(struct stream *stream, struct result *result)
{
	result_forget(result);
	recording_forget(stream->recording, stream->recorded);
	return true;
}

void stream_take_back(struct stream *stream)
{
	begin_again(stream, stream_current(stream));
	stream->current = -1;
	stream->results->count--;
	stream->next--;
}

/* Accepts a second begin of the current scenario. After its end, accepts only the next scenario of the plan. */
static bool take_begin(struct stream *stream, const char *id)
{
	const struct scenarios *plan = stream->plan;
	struct result *current = stream_current(stream);

	if (current && !strcmp(id, current->scenario.id))
		return begin_again(stream, current);
	if (stream->current >= 0 || stream->next == plan->count || strcmp(id, plan->at[stream->next].id))
		return false;
	stream->recorded = stream->recording->count;
	results_begin(stream->results, &plan->at[stream->next++]);
	stream->current = (int)stream->results->count - 1;
	return true;
}

/* The guest leaves out a scenario that would test nothing. */
static bool take_skip(struct stream *stream, const char *id)
{
	if (stream->current >= 0 || stream->next == stream->plan->count || strcmp(id, stream->plan->at[stream->next].id))
		return false;
	stream->next++;
	return true;
}

static bool take_line(struct stream *stream, char *line)
{
	struct result *result = stream_current(stream);
	const char *verb = word(&line);
	const char *id = word(&line);

	if (!strcmp(verb, "begin"))
		return take_begin(stream, id);
	if (!strcmp(verb, "skip"))
		return take_skip(stream, id);
	if (!result || strcmp(id, result->scenario.id))
		return false;
	if (!strcmp(verb, "event"))
		return take_event(stream, line);
	if (!strcmp(verb, "test"))
		return take_test(result, line);
	if (!strcmp(verb, "fired"))
		return take_fired(result, line);
	if (!strcmp(verb, "trial"))
		return take_trial(result, line);
	if (!strcmp(verb, "revoked"))
		return take_revoked(result, line);
	if (!strcmp(verb, "bytes"))
		return take_bytes(result, line);
	if (!strcmp(verb, "finding"))
		return take_finding(result, line);
	if (!strcmp(verb, "untold"))
		return take_untold(result, line);
	if (!strcmp(verb, "refused"))
		return take_refused(result, line);
	if (!strcmp(verb, "log"))
		return take_log(result, line);
	return !strcmp(verb, "end") && take_end(stream, result, line);
}

static void end_line(struct stream *stream)
{
	stream->line[stream->length] = '\0';
	stream->length = 0;
	stream->strange += !take_line(stream, stream->line);
}

void stream_feed(struct stream *stream, const char *data, size_t length)
{
	for (; length; data++, length--)
		if (*data == '\n')
			end_line(stream);
		else if (*data && stream->length < sizeof(stream->line) - 1)
			stream->line[stream->length++] = *data;
}
