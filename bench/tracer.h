/* SPDX-License-Identifier: MIT */
/* The kernel's latency tracers: the longest section with interrupts off, or with preemption off */
#ifndef BENCH_TRACER_H
#define BENCH_TRACER_H

#include "kernel_file.h"

#define TRACING "/sys/kernel/tracing/"

/**
 * struct section - the longest section that a tracer has seen
 * @start, @end: functions in which it began and ended, as "FUNCTION+OFFSET/SIZE [MODULE]"
 * @ours: one of these functions is of a module of peerpin
 */
struct section {
	uint64_t ns;
	char start[96];
	char end[96];
	bool ours;
};

/* @tracer: irqsoff or preemptoff. With function-trace the tracer would record each function call, which takes most of the time. */
static inline void tracer_begin(const char *tracer)
{
	kernel_write(TRACING "tracing_on", "0");
	kernel_write(TRACING "current_tracer", tracer);
	kernel_write(TRACING "options/function-trace", "0");
	kernel_write(TRACING "options/sym-offset", "1");	/* also prints the module of a function */
	kernel_write(TRACING "tracing_max_latency", "0");
	kernel_write(TRACING "tracing_on", "1");
}

static inline void tracer_line(struct section *s, const char *line)
{
	unsigned long us;

	if (sscanf(line, "# latency: %lu us", &us) == 1)
		s->ns = us * 1000;
	sscanf(line, "#  => started at: %95[^\n]", s->start);
	sscanf(line, "#  => ended at: %95[^\n]", s->end);
}

static inline struct section tracer_end(void)
{
	struct section s = {};
	char line[512];
	FILE *f;

	kernel_write(TRACING "tracing_on", "0");
	f = kernel_open(TRACING "trace");
	while (fgets(line, sizeof(line), f))
		tracer_line(&s, line);
	fclose(f);
	s.ours = strstr(s.start, "[peerpin") || strstr(s.end, "[peerpin");
	kernel_write(TRACING "current_tracer", "nop");
	return s;
}

#endif
