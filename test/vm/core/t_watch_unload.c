// SPDX-License-Identifier: MIT
/*
 * The module is removed while the kernel still has to free a space of watches. With srcutree.convert_to_big=1, as on
 * machines with many processors, the processor that closes the last file frees the space later, in a work item.
 * test/hog.ko delays that work item: before Linux 6.5. Since then the kernel lets other work items pass, so the case
 * passes there even if the removal does not wait.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "test/vm/harness/module.h"
#include "watch.h"

#define HOG "cpu=0 ms=4000"	/* on CLOSER, for longer than the removal takes */

enum {
	CLOSER,		/* the processor that closes the file */
	REMOVER,	/* the processor that does all else */
	ROUNDS = 2,
};

static bool run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/* Returns a file of /dev/peerpin whose only watch has ended. So file_release() has only the space to free. */
static int used_file(void)
{
	static char page[WATCH_PAGE] = "mapped";
	int fd = pin_open();
	struct peerpin_watch w;

	return fd >= 0 && !watch_at(fd, page, 1, &w) && !unwatch(fd, w.out_watch) ? fd : -1;
}

/* Frees spaces all the time. So a grace period always runs, and this processor ends it. */
static pid_t begin_grace_periods(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!pid)
		close(used_file());
	return pid;
}

static void *close_there(void *fd)
{
	return run_on(CLOSER) && !close(*(int *)fd) ? NULL : "close";
}

SETUP(everything_is_there)
{
	int f = open("/sys/module/srcutree/parameters/convert_to_big", O_RDONLY | O_CLOEXEC);
	char big = 0;

	EXPECT(read(f, &big, 1) == 1 && big == '1' && !close(f), "boot with srcutree.convert_to_big=1");
	EXPECT(run_on(REMOVER), "two processors: %d", errno);
}

/* If the removal did not wait, the work item would run freed code when hog ends, and the kernel would stop. */
static void remove_while_a_space_is_left(void)
{
	pthread_t closer;
	void *wrong;
	pid_t pid;
	int fd;

	EXPECT(!module_load("kmod/peerpin.ko", ""), "load: %d", errno);
	pid = begin_grace_periods();
	fd = used_file();	/* after fork(): the child has no copy, so close_there() drops the last reference */
	EXPECT(fd >= 0 && pid > 0 && !module_load("test/hog.ko", HOG), "begin: %d", errno);
	usleep(100000);
	EXPECT(!pthread_create(&closer, NULL, close_there, &fd), "thread");
	pthread_join(closer, &wrong);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT(!wrong && !module_remove("peerpin"), "remove: %s, %d", (char *)wrong, errno);
	EXPECT(!module_remove("hog"), "remove: %d", errno);
	usleep(200000);
}

CASE(removal_waits_for_the_last_space)
{
	for (int i = 0; i < ROUNDS && vmtest_result == VMTEST_OK; i++)
		remove_while_a_space_is_left();
}

VMTEST_MAIN
