// SPDX-License-Identifier: MIT
/*
 * A process in a memory control group registers GPU memory until the OOM killer kills the process. The kernel logs a
 * backtrace.
 */
#include "ibpeer.h"
#include "test/vm/harness/group.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
	FILES = 100000,
	SLICES = 512,	/* of GPU_PAGE */
};

static unsigned int *registered;	/* shared with the child */

SETUP(everything_is_there)
{
	EXPECT_SHIM();
	EXPECT(!client_load("persistent=0"), "load");
	EXPECT_CLEAN();
}

/*
 * Each registration is charged to the group, with its file. The registrations take turns at SLICES of memory, because
 * DMA-API debugging warns of the 8th mapping of a cache line.
 */
static void register_until_killed(void)
{
	struct rlimit files = { FILES, FILES };
	int own = emu_open();

	if (setrlimit(RLIMIT_NOFILE, &files) || emu_alloc(own, GPU_A, SLICES * GPU_PAGE) || !group_join())
		_exit(1);
	while (!mr_register(mr_open(), GPU_A + *registered % SLICES * GPU_PAGE, GPU_PAGE, IB_PEER_CHIP, 0))
		(*registered)++;
	_exit(2);
}

CASE(oom_kill_leaves_no_registration)
{
	int status;
	pid_t pid;

	registered = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(registered != MAP_FAILED && group_make() && group_write(GROUP "/memory.max", "4194304"), "a control group: %s",
	       strerror(errno));
	pid = fork();
	if (!pid)
		register_until_killed();
	EXPECT(waitpid(pid, &status, 0) == pid, "wait");
	printf("# %u registrations\n", *registered);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && *registered > 100,
	       "status %#x after %u registrations", status, *registered);
	EXPECT_CLEAN();
	EXPECT(group_end(), "the control group: %s", strerror(errno));
}

CASE(nothing_is_left)
{
	EXPECT(!client_remove(), "remove");
	EXPECT_CLEAN();
}

VMTEST_MAIN
