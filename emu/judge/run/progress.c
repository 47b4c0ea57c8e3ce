// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "progress.h"

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether stderr is a terminal that can move its cursor */
static bool is_terminal(void)
{
	const char *type = getenv("TERM");

	return isatty(STDERR_FILENO) && type && *type && strcmp(type, "dumb");
}

void progress_start(struct progress *progress)
{
	progress->on = is_terminal();
	progress->start_ms = now_ms();
}

long progress_ms(const struct progress *progress)
{
	return now_ms() - progress->start_ms;
}

/* Estimate: each remaining scenario takes the average time of the scenarios done, including boots. */
static void put_time_left(FILE *line, const struct progress *progress, size_t done, size_t planned)
{
	long left = progress_ms(progress) / (long)done * (long)(planned - done) / 1000;

	fprintf(line, ", about %ld:%02ld left", left / 60, left % 60);
}

static void put_line(FILE *line, const struct progress *progress, const char *id, size_t done, size_t planned,
		     size_t found)
{
	if (planned)
		fprintf(line, "%zu of %zu scenarios", done, planned);
	else
		fprintf(line, "%zu scenarios, to find what can be tested", done);
	fprintf(line, ", %zu broke a rule", found);
	if (planned && done)
		put_time_left(line, progress, done, planned);
	if (*id)
		fprintf(line, "; now %s", id);
}

/* Width of the line. The last column stays unused, because the cursor would wrap there. */
static int columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 79 : size.ws_col - 1;
}

void progress_show(const struct progress *progress, const char *id, size_t done, size_t planned, size_t found)
{
	char text[512] = "";
	FILE *line;

	if (!progress->on)
		return;
	line = fmemopen(text, sizeof(text), "w");
	if (!line)
		return;
	put_line(line, progress, id, done, planned, found);
	fclose(line);
	fprintf(stderr, "\r\033[K%.*s", columns(), text);
}

void progress_clear(const struct progress *progress)
{
	if (progress->on)
		fprintf(stderr, "\r\033[K");
}
