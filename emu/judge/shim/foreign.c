// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"
#include "foreign.h"
#include "gpu.h"
#include "history.h"
#include "process.h"

enum {
	QUIET_MS = 20,
	QUIET_TRIES = 10,
	REPEAT_MS = 2000,
	ALL_MS = 8000,
};

/* The process @pid with the watched pages, and the open GPU file */
struct watched {
	int gpu;
	uint32_t pid;
};

static void repeat_in_child(int ms)
{
	pid_t pid = process_fork();

	if (!pid) {
		history_repeat();
		_exit(0);
	}
	process_wait(pid, ms);
}

static void do_nothing(int ms)
{
	for (; ms > 0; ms--)
		process_nap();
}

/* Counts the pages of the test that are written while @call runs; returns 0 or -errno. */
static int count_writes(const struct watched *w, void (*call)(int ms), int ms, uint32_t *out)
{
	int ret = gpu_hide(w->gpu, w->pid);

	if (ret)
		return ret;
	call(ms);
	return gpu_show(w->gpu, out);
}

static bool nothing_is_written(const struct watched *w, int ms)
{
	uint32_t changed;

	return !count_writes(w, do_nothing, ms, &changed) && !changed;
}

/* Waits until no DMA of the test writes pages: the device continues a DMA although the test is stopped. */
static bool is_quiet(const struct watched *w)
{
	int i;

	for (i = 0; i < QUIET_TRIES; i++)
		if (nothing_is_written(w, QUIET_MS))
			return true;
	return false;
}

static int ms_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

/* -EAGAIN: pages are written even after the child has ended, so the writes are background DMA and no finding. */
static int count_writes_of_child(const struct watched *w, uint32_t *out)
{
	int start = ms_now(), ret = count_writes(w, repeat_in_child, REPEAT_MS, out);

	if (ret || !*out)
		return ret;
	return nothing_is_written(w, ms_now() - start + QUIET_MS) ? 0 : -EAGAIN;
}

static void watch(struct share *share)
{
	const struct watched w = { .gpu = gpu_open(), .pid = share->caller };
	uint32_t changed;

	if (w.gpu < 0 || !is_quiet(&w) || count_writes_of_child(&w, &changed))
		return;
	__atomic_store_n(&share->changed, changed, __ATOMIC_RELEASE);
	__atomic_store_n(&share->fired, 1, __ATOMIC_RELEASE);
}

/* Stops the test, so that no thread of the test writes while watch() counts the child's writes. */
static void stop_and_watch(struct share *share)
{
	if (ask_guest(SHARE_ASK_STOP))
		watch(share);
	kill((pid_t)share->caller, SIGCONT);
	_exit(0);
}

void foreign_try(struct share *share)
{
	pid_t pid;

	share->caller = (uint32_t)getpid();
	pid = process_fork();
	if (!pid)
		stop_and_watch(share);
	process_wait(pid, ALL_MS);
}
