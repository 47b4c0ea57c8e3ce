// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "leak.h"
#include "log.h"

#define KMEMLEAK "/sys/kernel/debug/kmemleak"

enum {
	/* pending work items and RCU callbacks free their memory in this time */
	SETTLE_SECONDS = 1,
	/* kmemleak does not report objects younger than five seconds */
	AGE_SECONDS = 6,
};

/*
 * A refused scan does not say why kmemleak is off: by the command line, or after an error in kmemleak. Only the error is a
 * failure, so this reads the command line.
 */
static bool is_off(void)
{
	char line[4096] = "";
	FILE *file = fopen("/proc/cmdline", "re");

	if (!file)
		return false;
	if (!fgets(line, sizeof(line), file))
		line[0] = 0;
	fclose(file);
	return strstr(line, "kmemleak=off");
}

static void sleep_until(time_t when)
{
	const struct timespec t = { .tv_sec = when };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void scan(int fd)
{
	if (write(fd, "scan", 4) != 4)
		log_line("vm: BUG: kmemleak refuses to scan");
}

static void copy(int fd)
{
	char block[4096];
	ssize_t n = read(fd, block, sizeof(block));

	if (n > 0)
		fputs("vm: memory that this command, or an earlier one of this VM, has leaked:\n", stderr);
	for (; n > 0; n = read(fd, block, sizeof(block)))
		fwrite(block, 1, n, stderr);
}

/*
 * Scans twice, because kmemleak does not report an object that has changed since the last
 * scan. The first scan takes seconds, which are part of the wait for AGE_SECONDS.
 */
void leaks_tell(void)
{
	int fd = is_off() ? -1 : open(KMEMLEAK, O_RDWR | O_CLOEXEC);
	struct timespec begin;

	if (fd < 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	sleep_until(begin.tv_sec + 1 + SETTLE_SECONDS);
	scan(fd);
	sleep_until(begin.tv_sec + 1 + AGE_SECONDS);
	scan(fd);
	copy(fd);
	close(fd);
}
