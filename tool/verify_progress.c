// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "verify_progress.h"

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void progress_start(struct progress *progress)
{
	progress->on = isatty(STDERR_FILENO);
	progress->start_ms = now_ms();
}

long progress_ms(const struct progress *progress)
{
	return now_ms() - progress->start_ms;
}

/* As long for each of the rest as for each until now, boots included. */
static void show_time_left(const struct progress *progress, size_t done, size_t planned)
{
	long left = progress_ms(progress) / (long)done * (long)(planned - done) / 1000;

	fprintf(stderr, ", about %ld:%02ld left", left / 60, left % 60);
}

void progress_show(const struct progress *progress, const char *id, size_t done, size_t planned, size_t found)
{
	if (!progress->on)
		return;
	fprintf(stderr, "\r\033[K");
	if (planned)
		fprintf(stderr, "%zu of %zu scenarios", done, planned);
	else
		fprintf(stderr, "%zu scenarios, to see what there is to try", done);
	fprintf(stderr, ", %zu broke a rule", found);
	if (planned && done)
		show_time_left(progress, done, planned);
	if (*id)
		fprintf(stderr, "; now %s", id);
}

void progress_clear(const struct progress *progress)
{
	if (progress->on)
		fprintf(stderr, "\r\033[K");
}
