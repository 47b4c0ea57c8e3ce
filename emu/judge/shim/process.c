// SPDX-License-Identifier: MIT
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process.h"

enum { KILLED_MS = 500 };

pid_t process_fork(void)
{
	return (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
}

void process_nap(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	nanosleep(&ms, NULL);
}

static int has_ended(pid_t pid, int ms)
{
	for (; ms; ms--) {
		if (waitpid(pid, NULL, WNOHANG | __WCLONE))
			return 1;
		process_nap();
	}
	return 0;
}

/* Does not wait for ever after SIGKILL: the guest detects a process that survives SIGKILL. */
void process_wait(pid_t pid, int ms)
{
	if (pid <= 0 || has_ended(pid, ms))
		return;
	kill(pid, SIGKILL);
	has_ended(pid, KILLED_MS);
}
