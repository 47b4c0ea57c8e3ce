/* SPDX-License-Identifier: MIT */
/* Threads and a clock for the tests of callbacks. */
#ifndef TEST_THREAD_H
#define TEST_THREAD_H

#include <pthread.h>
#include <time.h>

#include "p2p.h"

static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static inline void *thread_free_first_block(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)emu_free(fd, VA);
}

enum { FREE_MS = 1000 };

/* Begin to free the block at VA. Returns while the free waits in a callback of FREE_MS. */
static inline int thread_free_begin(pthread_t *thread)
{
	struct emugpu_test test;

	if (emu_delay_callbacks(fd, FREE_MS, 1) || pthread_create(thread, NULL, thread_free_first_block, NULL))
		return -1;
	while (!emu_translate(fd, VA, &test))
		usleep(1000);
	return 0;
}

/* True if a call that began at @start waited for the callback of FREE_MS. */
static inline bool thread_waited(double start)
{
	return now() - start > FREE_MS / 2000.0;
}

/* Wait for the end of the free; returns its result. */
static inline long thread_free_end(pthread_t thread)
{
	void *result;

	pthread_join(thread, &result);
	return (long)result;
}

#endif
