// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "tool/tool.h"
#include "json.h"
#include "lines.h"
#include "view.h"

static void print_time(void)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[16];

	strftime(text, sizeof(text), "%H:%M:%S", localtime_r(&now, &tm));
	printf("%s  ", text);
}

static void print_gpus(const struct top_sample *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_gpus; i++)
		puts(top_row_gpu(s, i).at);
}

static void print_peers(const struct top_sample *s)
{
	size_t i;

	if (s->nr_peers)
		puts(top_row_peer_names().at);
	for (i = 0; i < s->nr_peers; i++)
		puts(top_row_peer(&s->peers[i]).at);
}

static void print_processes(const struct top_sample *s)
{
	const struct top_view all = { .sort = TOP_BY_BYTES };
	const struct top_process **rows;
	size_t count, i;

	rows = top_rows(s, &all, &count);
	if (count)
		puts(top_row_process_names().at);
	for (i = 0; i < count; i++)
		puts(top_row_process(rows[i]).at);
	free(rows);
}

static void print_block(const struct top_sample *s)
{
	unsigned int i;

	print_time();
	puts(top_row_title(s).at);
	print_gpus(s);
	print_peers(s);
	print_processes(s);
	for (i = 0; i < s->nr_notes; i++)
		printf("note: %s\n", s->notes[i]);
}

static void wait_until(uint64_t ns)
{
	struct timespec ts = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

int top_lines(struct top *t, const struct top_args *args)
{
	uint64_t n;

	top_next(t);
	for (n = 0; !args->count || n < args->count; n++) {
		if (n && !args->json)
			putchar('\n');
		wait_until(top_due_ns(t, args->interval_ns));
		top_next(t);
		if (args->json)
			top_json(&t->now);
		else
			print_block(&t->now);
		if (fflush(stdout))
			break;		/* main() prints the error */
	}
	return EXIT_OK;
}
