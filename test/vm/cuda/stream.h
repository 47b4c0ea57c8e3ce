/* SPDX-License-Identifier: MIT */
/*
 * For the tests of streams. A gate is a host function that waits. It holds a stream for as long as
 * a case needs, so no case depends on timing. All cases without SKIP pass on a real GPU, too.
 */
#ifndef TEST_STREAM_H
#define TEST_STREAM_H

#include "cu.h"
#include "test/vm/harness/emu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { SIZE = 1 << 20 };

static CUcontext ctx;
static CUdeviceptr dev;
static CUdeviceptr other __attribute__((unused));
static unsigned char *locked __attribute__((unused));	/* page-locked memory */
static unsigned char host[SIZE] __attribute__((unused)), back[SIZE];

/* Make the primary context current and allocate memory. */
static inline void stream_start(void)
{
	ctx = cu_start(0);
	EXPECT(ctx, "no GPU");
	OK(cuMemAlloc(&dev, SIZE));
	OK(cuMemAlloc(&other, SIZE));
	OK(cuMemAllocHost((void **)&locked, SIZE));
}

/* True if all SIZE bytes at @p are @value. */
static inline int is_filled(CUdeviceptr p, unsigned char value)
{
	memset(back, ~value, SIZE);
	if (cuMemcpyDtoH(back, p, SIZE))
		return 0;
	return back[0] == value && !memcmp(back, back + 1, SIZE - 1);
}

/* ---- gates --------------------------------------------------------------------- */

struct gate {
	atomic_int open;
	atomic_int reached;
};

static inline void sleep_ms(unsigned int ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

static inline void wait_for(atomic_int *flag)
{
	while (!*flag)
		sleep_ms(1);
}

static inline void hold(void *arg)
{
	struct gate *g = arg;

	g->reached = 1;
	wait_for(&g->open);
}

/* Open a gate after a while. Until then a caller can see that other calls wait. */
static inline void *open_later(void *gate)
{
	sleep_ms(50);
	((struct gate *)gate)->open = 1;
	return NULL;
}

static inline pthread_t start_opening(struct gate *g)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, open_later, g))
		abort();
	return thread;
}

#endif
