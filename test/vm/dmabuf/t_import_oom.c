// SPDX-License-Identifier: MIT
/* A process in a memory control group imports dma-bufs until the kernel kills it. The kernel logs a backtrace then. */
#include "import.h"
#include "test/vm/harness/group.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_int *shared;

static bool begin_anew(int *dmabuf)
{
	gpu = emu_open();
	fd = pin_open();
	*dmabuf = new_dmabuf(SIZE);
	return *dmabuf >= 0 && !host_make(&host, SIZE);
}

/* Each region and each attachment is charged to the group. */
static void import_until_killed(void)
{
	struct peerpin_pin pin;
	int dmabuf;

	if (!begin_anew(&dmabuf) || !group_join())
		_exit(1);
	for (;;) {
		if (pin_dmabuf(dmabuf, 0, SIZE, &pin) || copy_out(&pin, 0, PAGE))
			atomic_fetch_add(&shared[1], 1);
		if (atomic_fetch_add(&shared[0], 1) > 100000)
			_exit(2);
	}
}

CASE(oom_kill_leaves_nothing)
{
	int status;
	pid_t pid;

	EXPECT_NODES();
	EXPECT(!set_dynamic(true), "dmabuf_dynamic");
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(shared != MAP_FAILED && group_make() && group_write(GROUP "/memory.max", "4194304"), "a control group: %s",
	       strerror(errno));
	pid = fork();
	if (!pid)
		import_until_killed();
	EXPECT(waitpid(pid, &status, 0) == pid, "wait");
	printf("# %d imports, %d refused\n", shared[0], shared[1]);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && shared[0] > 100, "status %#x after %d imports", status,
	       shared[0]);
	EXPECT_ALL_GONE();
	EXPECT(group_end(), "the control group: %s", strerror(errno));
}

VMTEST_MAIN
