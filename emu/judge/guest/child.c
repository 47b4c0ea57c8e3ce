// SPDX-License-Identifier: MIT
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"

long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

pid_t child_run(int (*call)(const void *arg), const void *arg)
{
	pid_t pid = fork();

	if (!pid)
		_exit(-call(arg));
	return pid < 0 ? -errno : pid;
}

int child_wait(pid_t pid, int ms)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status, ended;

	if (end.fd < 0)
		return -errno;
	ended = poll(&end, 1, ms);
	close(end.fd);
	if (ended <= 0)
		return -ETIMEDOUT;
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EFAULT;
}

int child_call(int (*call)(const void *arg), const void *arg, int ms)
{
	pid_t pid = child_run(call, arg);

	return pid < 0 ? pid : child_wait(pid, ms);
}
