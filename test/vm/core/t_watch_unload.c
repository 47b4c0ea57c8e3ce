// SPDX-License-Identifier: MIT
/*
 * The module is removed while a process still has its space, and a thread of the process is about to enter
 * space_range_start(): test/stall.ko makes the thread sleep there. The removal must wait for the thread.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "test/vm/harness/module.h"
#include "test/vm/harness/stall.h"
#include "watch.h"

enum {
	ROUNDS = 2,
	LATE_MS = 1500,
};

/*
 * The process has a space, but neither a watch nor a file. It says so, and changes its memory when it is told to: once
 * before the module is removed, and once after.
 */
static void use_space(int ready, int told)
{
	static char page[WATCH_PAGE] __attribute__((aligned(WATCH_PAGE))) = "mapped";
	int fd = pin_open();
	struct peerpin_watch w;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0 || watch_at(fd, page, 1, &w) || unwatch(fd, w.out_watch) || close(fd))
		_exit(1);
	for (int i = 0; i < 2; i++)
		if (write(ready, "", 1) != 1 || read(told, &c, 1) != 1 || madvise(page, WATCH_PAGE, MADV_DONTNEED))
			_exit(2);
	_exit(0);
}

static void remove_while_a_space_is_left(void)
{
	int ready[2], told[2], status;
	uint64_t start;
	pid_t pid;
	char c;

	EXPECT(!module_load("kmod/peerpin.ko", "") && !pipe(ready) && !pipe(told), "load: %d", errno);
	pid = fork();
	if (!pid)
		use_space(ready[1], told[0]);
	EXPECT(pid > 0 && !close(ready[1]) && read(ready[0], &c, 1) == 1, "the child is not ready: %d", errno);
	EXPECT(!stall("space_range_start", LATE_MS) && write(told[1], "", 1) == 1, "stall: %d", errno);
	for (int i = 0; i < 3000 && !stall_count(); i++)
		usleep(1000);
	EXPECT(stall_count() == 1, "no thread in the notifier");
	start = now_ns();
	EXPECT(!module_remove("peerpin"), "remove: %d", errno);
	printf("# the removal took %lu ms\n", (now_ns() - start) / 1000000);
	EXPECT(read(ready[0], &c, 1) == 1 && !stall_end(), "the process has not returned: %d", errno);
	EXPECT(write(told[1], "", 1) == 1 && waitpid(pid, &status, 0) == pid && !status, "process: %d", status);
	close(ready[0]);
	close(told[0]);
	close(told[1]);
}

CASE(removal_waits_for_the_last_space)
{
	for (int i = 0; i < ROUNDS && vmtest_result == VMTEST_OK; i++)
		remove_while_a_space_is_left();
}

VMTEST_MAIN
