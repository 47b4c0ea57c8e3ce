// SPDX-License-Identifier: MIT
/* A process in a memory control group imports dma-bufs until the kernel kills it. The kernel logs a backtrace then. */
#include "import.h"
#include "test/vm/harness/group.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum {
	SLICE = 64 << 10,
	SLICES = 512,
};

static atomic_int *shared;

static bool import(unsigned int nth)
{
	int dmabuf = export(GPU_A + nth % SLICES * SLICE, SLICE);
	struct peerpin_pin pin;

	return dmabuf >= 0 && !pin_and_close(dmabuf, SLICE, &pin) && !copy_out(&pin, 0, PAGE);
}

/*
 * Each region and each attachment is charged to the group. The imports take turns at SLICES of memory, because DMA-API
 * debugging warns of the 8th mapping of a cache line.
 */
static void import_until_killed(void)
{
	gpu = emu_open();
	fd = pin_open();
	if (emu_alloc(gpu, GPU_A, SLICES * SLICE) || host_make(&host, SIZE) || !group_join())
		_exit(1);
	for (unsigned int nth = 0;; nth++) {
		if (!import(nth))
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
