/* SPDX-License-Identifier: MIT */
/*
 * Parses the output lines of the guest:
 *	begin ID			a second "begin" restarts the scenario
 *	skip ID				instead of "begin": the scenario is left out
 *	event ID kernel|user N TEXT
 *	test ID HOW
 *	fired ID yes|no
 *	trial ID N pins N own N calls N devices
 *	bytes ID SUM			hexadecimal
 *	finding ID RULE TEXT
 *	log ID TEXT
 *	refused ID KERNEL'S WORDS
 *	untold ID WHY
 *	end ID clean|dirty
 * Other lines are ignored and counted.
 */
#ifndef VERIFY_STREAM_H
#define VERIFY_STREAM_H

#include <stddef.h>
#include "emu/judge/result/result.h"

/**
 * struct stream - the output of one VM
 * @plan: the scenarios of the VM, in the order in which the VM runs them
 * @next: index in @plan of the first scenario that has not begun
 * @results: receives the results
 * @recording: receives the events
 * @current: index in @results of the running scenario; -1: no scenario runs
 * @recorded: number of events recorded before the current scenario
 * @strange: number of lines that could not be parsed
 * @line: the first @length bytes of the current line; longer lines are cut
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

/* Undoes the start of the current scenario, so that this scenario is the next to start. */
void stream_take_back(struct stream *stream);

/* The result of the running scenario; NULL: no scenario runs */
struct result *stream_current(const struct stream *stream);

#endif
