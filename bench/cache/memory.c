// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "bench/bench.h"
#include "memory.h"

struct memory {
	int64_t given;
	int64_t resident;
};

/* Read smaps_rollup: the kernel walks the page tables, so the sum is exact. */
static int64_t resident(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	unsigned long kb = 0;
	char line[128];
	bool found = false;

	bench_need(f != NULL, "/proc/self/smaps_rollup", errno);
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "Anonymous: %lu kB", &kb) == 1;
	fclose(f);
	bench_need(found, "/proc/self/smaps_rollup", EINVAL);
	return (int64_t)kb << 10;
}

static struct memory now(void)
{
	struct mallinfo2 m = mallinfo2();

	return (struct memory){ m.uordblks + m.hblkhd, resident() };
}

/* Runs in a child process, in which free heap pages are not resident and no page is huge. */
static struct memory measure(const struct contender *c, const struct ranges *ranges)
{
	struct memory before, after;
	void *cache;

	bench_need(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), "PR_SET_THP_DISABLE", errno);
	malloc_trim(0);
	before = now();
	cache = c->make(ranges->count, 0);
	c->use(cache, ranges->at, ranges->count);
	after = now();
	return (struct memory){ after.given - before.given, after.resident - before.resident };
}

static struct memory measure_in_child(const struct contender *c, const struct ranges *ranges)
{
	struct memory m = { 0 };
	int ends[2], status;
	pid_t child;

	bench_need(!pipe(ends), "pipe", errno);
	fflush(stdout);
	child = fork();
	if (!child) {
		m = measure(c, ranges);
		_exit(write(ends[1], &m, sizeof(m)) != sizeof(m));
	}
	bench_need(child > 0 && waitpid(child, &status, 0) == child && !status, "a process to measure in", EIO);
	bench_need(read(ends[0], &m, sizeof(m)) == sizeof(m), "read", errno);
	close(ends[0]);
	close(ends[1]);
	return m;
}

double memory_of(const struct contender *c, const char *name, const struct ranges *ranges)
{
	struct memory m = measure_in_child(c, ranges);
	double given = (double)m.given / ranges->count, there = (double)m.resident / ranges->count;

	printf("memory, %s: %s %.1f bytes a region allocated, %.1f resident\n", name, c->name, given, there);
	return given > there ? given : there;
}
