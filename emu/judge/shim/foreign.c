// SPDX-License-Identifier: MIT
#include <signal.h>
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
	ALL_MS = 5000,
};

static void repeat_in_child(void)
{
	pid_t pid = process_fork();

	if (!pid) {
		history_repeat();
		_exit(0);
	}
	process_wait(pid, REPEAT_MS);
}

static void do_nothing(void)
{
	int ms;

	for (ms = 0; ms < QUIET_MS; ms++)
		process_nap();
}

/* How many pages of the test's are written while @call runs: 0, or -errno */
static int count_writes(int gpu, void (*call)(void), uint32_t *out)
{
	int ret = gpu_hide(gpu);

	if (ret)
		return ret;
	call();
	return gpu_show(gpu, out);
}

/* A transfer that the test has begun may go on when the test does not, and must be over. */
static bool is_quiet(int gpu)
{
	uint32_t changed;
	int i;

	for (i = 0; i < QUIET_TRIES; i++)
		if (!count_writes(gpu, do_nothing, &changed) && !changed)
			return true;
	return false;
}

static void watch(struct share *share)
{
	int gpu = gpu_open();
	uint32_t changed;

	if (gpu < 0 || !is_quiet(gpu) || count_writes(gpu, repeat_in_child, &changed))
		return;
	__atomic_store_n(&share->changed, changed, __ATOMIC_RELEASE);
	__atomic_store_n(&share->fired, 1, __ATOMIC_RELEASE);
}

/* No thread of the test may write while another process is watched doing it. */
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
