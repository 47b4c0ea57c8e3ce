// SPDX-License-Identifier: MIT
#include <signal.h>
#include <unistd.h>

#include "ask.h"
#include "foreign.h"
#include "gpu.h"
#include "history.h"
#include "process.h"

enum {
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

static void watch(struct share *share)
{
	int gpu = gpu_open();
	uint32_t changed;

	if (gpu < 0 || gpu_hide(gpu))
		return;
	repeat_in_child();
	if (gpu_show(gpu, &changed))
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
