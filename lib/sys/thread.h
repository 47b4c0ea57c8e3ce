/* SPDX-License-Identifier: MIT */
/* A library's own thread, which ends with the process. */
#ifndef PP_THREAD_H
#define PP_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Starts a thread that handles no signal. @name: of at most 15 bytes; `peerpin doctor` looks for it. 0 or -errno */
static inline int pp_thread_make(pthread_t *thread, const char *name, void *(*run)(void *))
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	ret = -pthread_create(thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!ret)
		pthread_setname_np(*thread, name);
	return ret;
}

/* A condition whose time-outs are of the monotonic clock */
static inline void pp_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

static inline struct timespec pp_time_after_ms(unsigned int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000l;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/*
 * Waits at most a second: a thread that called exit() may hold a lock that @thread needs. The wait is of the monotonic
 * clock, because the time of day may be set back meanwhile. Returns whether @thread has ended.
 */
static inline bool pp_thread_join(pthread_t thread)
{
	struct timespec until = pp_time_after_ms(1000);

	return !pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until);
}

#endif
