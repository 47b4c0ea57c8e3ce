/* SPDX-License-Identifier: MIT */
/*
 * pthread_cancel() could end a thread that holds a lock, or that other threads wait
 * for. So cancellation is disabled in every function that may block.
 */
#ifndef PP_CANCEL_H
#define PP_CANCEL_H

#include <pthread.h>

static inline int pp_cancel_disable(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void pp_cancel_restore(const int *before)
{
	pthread_setcancelstate(*before, NULL);
}

/* The first line of a function that may block. A cache hit does without, because it costs some nanoseconds. */
#define PP_NO_CANCEL \
	__attribute__((cleanup(pp_cancel_restore), unused)) const int pp_cancel_before = pp_cancel_disable()

#endif
