/* SPDX-License-Identifier: MIT */
/*
 * pthread_cancel() would end a thread with a lock, or in the midst of what others
 * wait for: so no function that may block is a cancellation point.
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

/* Opens such a function. Not on a hit: it takes some nanoseconds. */
#define PP_NO_CANCEL \
	__attribute__((cleanup(pp_cancel_restore), unused)) const int pp_cancel_before = pp_cancel_disable()

#endif
