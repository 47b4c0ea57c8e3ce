/* SPDX-License-Identifier: MIT */
/* What the controller and all workers share. Any of them may be killed at any moment, so there is no lock in it. */
#ifndef SOAK_SOAK_H
#define SOAK_SOAK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	WORKERS_MAX = 128,
	FAILURE_MAX = 512,
};

/* What the controller does to everybody */
enum trouble {
	TROUBLE_GPU,	/* a GPU goes, or takes its memory back */
	TROUBLE_PEER,	/* a peer goes */
	TROUBLE_LIMITS,	/* of what may be pinned, or of BAR1 */
	TROUBLES,
};

enum count {
	COUNT_OPS,
	COUNT_COPIES,
	COUNT_BYTES,	/* that arrived, and were looked at */
	COUNT_REFUSED,	/* calls that failed as they may */
	COUNT_PINS,
	COUNT_SIGBUS,
	COUNT_HOST_REVOKED,	/* by the kernel's moving of host memory */
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
 * struct soak - in shared memory
 * @begun, @ended: of each kind of trouble; it goes on while they differ
 * @pause: workers are to have nothing, and wait
 * @paused: those that do: the number of the pause
 * @failed: somebody has written @failure
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

/* Ends the run: what is said first is told. */
__attribute__((format(printf, 1, 2))) void soak_fail(const char *format, ...);

static inline bool soak_failed(void)
{
	return __atomic_load_n(&soak->failed, __ATOMIC_ACQUIRE);
}

/** struct since - a moment, to ask what has gone on since */
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

/* A bit for each kind of trouble that there has been since, or was at the time */
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
