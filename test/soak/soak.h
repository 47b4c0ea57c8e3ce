/* SPDX-License-Identifier: MIT */
/* Shared by the controller and all workers. There is no lock, because a process may be killed at any moment. */
#ifndef SOAK_SOAK_H
#define SOAK_SOAK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	WORKERS_MAX = 128,
	FAILURE_MAX = 512,
};

/* Disturbances by the controller, which all workers may see */
enum trouble {
	TROUBLE_GPU,	/* a GPU is removed, or revokes its memory */
	TROUBLE_PEER,	/* a peer is removed */
	TROUBLE_LIMITS,	/* the limit of pinned memory or of BAR1 changes */
	TROUBLES,
};

enum count {
	COUNT_OPS,
	COUNT_COPIES,
	COUNT_BYTES,	/* bytes that arrived and were checked */
	COUNT_REFUSED,	/* calls that failed with an allowed error */
	COUNT_PINS,
	COUNT_SIGBUS,
	COUNT_HOST_REVOKED,	/* regions revoked because the kernel moved host memory */
	COUNT_KILLS,
	COUNT_LIVES,
	COUNT_UNBINDS,
	COUNT_REMOVALS,
	COUNT_REVOCATIONS,
	COUNT_PARAMETERS,
	COUNT_QUIET,
	COUNTS,
};

/**
 * struct soak - state in shared memory
 * @begun: for each kind of trouble, how often it began
 * @ended: for each kind of trouble, how often it ended; trouble goes on while this is below @begun
 * @pause: number of the current pause, in which workers release everything and wait; 0: no pause
 * @paused: for each worker, the number of the pause that it has reached
 * @failed: true: a process has written @failure
 */
struct soak {
	uint64_t seed;
	uint32_t begun[TROUBLES];
	uint32_t ended[TROUBLES];
	uint32_t pause;
	uint32_t paused[WORKERS_MAX];
	uint32_t stop;
	uint32_t failed;
	char failure[FAILURE_MAX];
	uint64_t counts[COUNTS];
};

extern struct soak *soak;

static inline void count(enum count what, uint64_t n)
{
	__atomic_add_fetch(&soak->counts[what], n, __ATOMIC_RELAXED);
}

static inline uint64_t counted(enum count what)
{
	return __atomic_load_n(&soak->counts[what], __ATOMIC_RELAXED);
}

/* End the run. Only the first message is kept. */
__attribute__((format(printf, 1, 2))) void soak_fail(const char *format, ...);

static inline bool soak_failed(void)
{
	return __atomic_load_n(&soak->failed, __ATOMIC_ACQUIRE);
}

/** struct since - a moment; since_what() tells the trouble since this moment */
struct since {
	uint32_t ended[TROUBLES];
};

static inline struct since since_now(void)
{
	struct since since;
	int i;

	for (i = 0; i < TROUBLES; i++)
		since.ended[i] = __atomic_load_n(&soak->ended[i], __ATOMIC_SEQ_CST);
	return since;
}

/* One bit for each kind of trouble that was going on at @since or began after @since */
static inline unsigned int since_what(const struct since *since)
{
	unsigned int mask = 0;
	int i;

	for (i = 0; i < TROUBLES; i++)
		if (__atomic_load_n(&soak->begun[i], __ATOMIC_SEQ_CST) != since->ended[i])
			mask |= 1u << i;
	return mask;
}

#endif
