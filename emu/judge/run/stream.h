/* SPDX-License-Identifier: MIT */
/*
 * What the guest says, a line each: "begin ID", "event ID kernel|user N TEXT",
 * "test ID HOW", "fired ID yes|no", "finding ID RULE TEXT", "log ID TEXT",
 * "untold ID WHY", "end ID clean|dirty". One that begins a second time begins anew. Anything else
 * is passed over and counted.
 */
#ifndef VERIFY_STREAM_H
#define VERIFY_STREAM_H

#include <stddef.h>
#include "emu/judge/result/result.h"

/**
 * struct stream - from one machine
 * @plan: what it was given; it says them in this order, @next is not begun yet
 * @results: where they go
 * @recording: where events go
 * @current: begun and not ended, an index of @results; -1: none
 * @recorded: events there were before it
 * @strange: lines that made no sense
 * @line: the beginning of one, @length long; a longer one is cut
 */
struct stream {
	const struct scenarios *plan;
	size_t next;
	struct results *results;
	struct recording *recording;
	int current;
	size_t recorded;
	size_t strange;
	char line[512];
	size_t length;
};

void stream_feed(struct stream *stream, const char *data, size_t length);

/* What it is on has not begun, and is next again. */
void stream_take_back(struct stream *stream);

/* NULL: none */
struct result *stream_current(const struct stream *stream);

#endif
