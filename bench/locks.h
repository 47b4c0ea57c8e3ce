/* SPDX-License-Identifier: MIT */
/*
 * Counts how often this process and its children wait for any lock of the kernel: the event
 * lock:contention_begin (since 5.19).
 */
#ifndef BENCH_LOCKS_H
#define BENCH_LOCKS_H

#include <sys/mount.h>
#include <sys/stat.h>
#include "bench.h"

#define LOCKS_TRACING "/sys/kernel/tracing"
#define LOCKS_DIR LOCKS_TRACING "/instances/peerpin_bench/"

static inline int locks_write(const char *file, const char *text)
{
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), LOCKS_DIR "%s", file);
	fd = open(path, O_WRONLY | O_TRUNC);
	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* Trace this process and the children that it forks from now on. Returns -errno if the kernel lacks the event. */
static inline int locks_open(void)
{
	char pid[16];

	mount("tracefs", LOCKS_TRACING, "tracefs", 0, NULL);	/* fails if tracefs is mounted already */
	if (mkdir(LOCKS_DIR, 0700) && errno != EEXIST)
		return -errno;
	snprintf(pid, sizeof(pid), "%d", getpid());
	return locks_write("tracing_on", "0") ?: locks_write("options/event-fork", "1") ?:
	       locks_write("set_event_pid", pid) ?: locks_write("events/lock/contention_begin/enable", "1");
}

static inline void locks_close(void)
{
	rmdir(LOCKS_DIR);
}

/* Start or stop counting */
static inline void locks_watch(int on)
{
	bench_need(!locks_write("tracing_on", on ? "1" : "0"), LOCKS_DIR, EIO);
}

/* Return the count since the last call; slow */
static inline unsigned int locks_take_count(void)
{
	unsigned int count = 0;
	char line[512];
	FILE *f = fopen(LOCKS_DIR "trace", "r");

	bench_need(!!f, LOCKS_DIR "trace", errno);
	while (fgets(line, sizeof(line), f))
		count += !!strstr(line, "contention_begin:");
	fclose(f);
	bench_need(!locks_write("trace", ""), LOCKS_DIR "trace", EIO);
	return count;
}

#endif
