/* SPDX-License-Identifier: MIT */
/*
 * The longest time for which a thread of the highest real-time priority could not run, on any processor.
 * The kernel keeps such a thread waiting while interrupts or preemption are off, and, on a kernel that
 * preempts only in certain places, between two of these places.
 */
#ifndef BENCH_LATE_H
#define BENCH_LATE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <signal.h>
#include "bench.h"

enum {
	LATE_CPUS = 64,
	LATE_PERIOD_NS = 200000,
};

/* Shared with the watching process. That process never forks, so no fault of copied pages delays its threads. */
static struct late {
	atomic_ulong longest;	/* of all processors, since late_begin() */
} *late;

static inline void late_note(uint64_t ns)
{
	unsigned long longest = atomic_load(&late->longest);

	while (ns > longest && !atomic_compare_exchange_weak(&late->longest, &longest, ns))
		;
}

static inline void *late_watch(void *cpu)
{
	const struct sched_param first = { .sched_priority = 99 };
	uint64_t next = now_ns(), now;
	struct timespec at;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((uintptr_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	bench_need(!sched_setscheduler(0, SCHED_FIFO, &first), "SCHED_FIFO", errno);
	for (;;) {
		next += LATE_PERIOD_NS;
		at = (struct timespec){ next / 1000000000, next % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		now = now_ns();
		late_note(now - next);
		next = now;
	}
	return NULL;
}

static inline void late_process(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uintptr_t i = 0; i < (uintptr_t)cpus && i < LATE_CPUS; i++)
		bench_need(!pthread_create(&thread, NULL, late_watch, (void *)i), "thread", EAGAIN);
	for (;;)
		pause();
}

/* Call once. */
static inline void late_open(void)
{
	pid_t pid;

	late = mmap(NULL, sizeof(*late), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bench_need(late != MAP_FAILED, "mmap", errno);
	pid = fork();
	bench_need(pid >= 0, "fork", errno);
	if (!pid)
		late_process();
}

static inline void late_begin(void)
{
	atomic_store(&late->longest, 0);
}

/* The sleep lets the threads note a wait that has just ended. */
static inline uint64_t late_end(void)
{
	usleep(1000);
	return atomic_load(&late->longest);
}

#endif
