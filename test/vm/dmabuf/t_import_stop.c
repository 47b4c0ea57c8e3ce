// SPDX-License-Identifier: MIT
/*
 * Processes that are killed or stopped while they import: by seccomp, with a file in io_uring, by a control group. The
 * dma-buf's memory is given back, and freeing it takes bounded time. Also: peerpin is removed while an exporter has a
 * reference to a fence of peerpin.
 */
#include "import.h"
#include "test/vm/harness/forbid.h"
#include "test/vm/harness/group.h"
#include "test/vm/harness/uring.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum {
	DRAIN_MS = 500,
	KILLS = 16,
	FREEZES = 12,
};

static atomic_int *copies;	/* shared with children */

SETUP(everything_is_there)
{
	EXPECT_NODES();
	EXPECT(!set_dynamic(true) && !module_set("peerpin/parameters/drain_timeout_ms", "500"), "parameters");
	copies = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(copies != MAP_FAILED, "%s", strerror(errno));
	EXPECT_ALL_GONE();
}

static bool begin_anew(struct peerpin_pin *pin)
{
	gpu = emu_open();
	fd = pin_open();
	return !host_make(&host, SIZE) && !pin_and_close(new_dmabuf(SIZE), SIZE, pin);
}

/* Returns the error that ends the copies. */
static int copy_until_error(const struct peerpin_pin *pin)
{
	int err;

	while (!(err = copy_out(pin, 0, SIZE)))
		atomic_fetch_add(copies, 1);
	return err;
}

static pid_t start(void (*fn)(int), int arg)
{
	pid_t pid;

	atomic_store(copies, 0);
	pid = fork();
	if (!pid)
		fn(arg);
	while (!atomic_load(copies) && !waitpid(pid, NULL, WNOHANG))
		usleep(1000);
	return pid;
}

/* ---- seccomp ------------------------------------------------------------------------------- */

static void *break_the_rules(void *us)
{
	while (!atomic_load(copies))
		usleep(100);
	usleep(*(int *)us);
	forbidden_call();
	return NULL;
}

static void copy_and_break_the_rules(int us)
{
	struct peerpin_pin pin;
	pthread_t thread;

	if (!begin_anew(&pin) || pthread_create(&thread, NULL, break_the_rules, &us))
		_exit(1);
	copy_until_error(&pin);
	_exit(2);
}

CASE(seccomp_kill_during_a_copy)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < vmtest_rounds(KILLS); i++) {
		pid = start(copy_and_break_the_rules, i * 397 % 3000);
		EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "status %#x", status);
		EXPECT_ALL_GONE();
	}
}

/* ---- io_uring ------------------------------------------------------------------------------ */

/* The DMA outlives the process, because @check is the parent's. */
static int die_with_ring(void)
{
	struct peerpin_pin pin;
	int ring;

	if (!begin_anew(&pin))
		return 1;
	ring = ring_with(fd);
	if (ring < 0 || copy_out(&pin, 0, SIZE) || hold(&pin, 0))
		return 2;
	close(fd);
	return raise(SIGKILL);
}

static bool has_rings(void)
{
	int ring = ring_with(fd);

	close(ring);
	return ring >= 0;
}

CASE(killed_importer_with_ring_leaves_nothing)
{
	uint64_t start = now_ns();
	int ret;

	if (!has_rings())
		SKIP("this kernel has no io_uring");
	ret = emu_in_child(die_with_ring);
	EXPECT(ret == -1, "child: %d", ret);
	EXPECT(ms_since(start) < 3 * DRAIN_MS, "the exit took %lu ms", ms_since(start));
	EXPECT(vram_used() == SIZE, "the memory was freed during DMA");
	EXPECT(!end_held(), "end of overdue DMA");
	EXPECT_ALL_GONE();
}

/* ---- a control group ------------------------------------------------------------------------- */

/* The memory is the parent's. */
static void import_in_group(int dmabuf)
{
	struct peerpin_pin pin;
	int err;

	fd = pin_open();
	if (!group_join() || host_make(&host, SIZE) || pin_and_close(dmabuf, SIZE, &pin))
		_exit(1);
	err = copy_until_error(&pin);
	_exit(err == -ESTALE ? 0 : -err);
}

static void free_beside_frozen_copy(int us)
{
	int dmabuf = new_dmabuf(SIZE), status, seen;
	uint64_t start_ns, ms;
	pid_t pid;

	EXPECT(dmabuf >= 0, "export: %d", dmabuf);
	pid = start(import_in_group, dmabuf);
	close(dmabuf);
	usleep(us);
	EXPECT(group_freeze(), "the group is not frozen");
	seen = atomic_load(copies);
	start_ns = now_ns();
	EXPECT(!emu_free(gpu, GPU_A), "free");
	ms = ms_since(start_ns);
	EXPECT(ms < 2 * DRAIN_MS, "the free took %lu ms", ms);
	EXPECT(soon(memory_is_gone), "left: %lu bytes of VRAM, %lu of BAR1", vram_used(), bar1_used());
	EXPECT(atomic_load(copies) == seen && !waitpid(pid, &status, WNOHANG), "the process runs");
	EXPECT(group_thaw() && waitpid(pid, &status, 0) == pid && !status, "status %#x after %d copies", status, seen);
	EXPECT_ALL_GONE();
}

/* The process is stopped with a region and an attachment, between two copies or in one. */
CASE(frozen_importer_delays_no_free)
{
	int i;

	EXPECT(group_make(), "a control group: %s", strerror(errno));
	for (i = 0; i < vmtest_rounds(FREEZES) && vmtest_result == VMTEST_OK; i++)
		free_beside_frozen_copy(i * 613 % 5000);
	CHECK_CASE();
	EXPECT(group_end(), "the control group: %s", strerror(errno));
}

/* ---- removal of the module --------------------------------------------------------------------- */

/* Free the memory of @dmabuf beside a DMA that ends late. Then the exporter keeps peerpin's fence. */
static void leave_a_fence(int dmabuf)
{
	struct peer_check c = { 0 };
	struct peerpin_pin pin;

	EXPECT(!pin_dmabuf(dmabuf, 0, SIZE, &pin) && !hold(&pin, 0) && !emu_free(gpu, GPU_A), "free");
	EXPECT(!end_held() && !unpin(fd, pin.out_region), "end");
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister");
	EXPECT(soon(memory_is_gone), "left: %lu bytes of VRAM, %lu of BAR1", vram_used(), bar1_used());
}

static bool peerpin_is_idle(void)
{
	return !module_refs("peerpin");
}

static int load_all(void)
{
	return module_load("kmod/peerpin.ko", "") ?: module_load("kmod/peerpin_nv.ko", "") ?:
	       module_load("kmod/peerpin_lsi.ko", "") ?: module_load("test/peer_check.ko", "");
}

/* A fence without a reference to the module would call removed code. Runs last, because it closes the nodes. */
CASE(kept_fence_keeps_the_module)
{
	int dmabuf = new_dmabuf(SIZE);

	leave_a_fence(dmabuf);
	CHECK_CASE();
	close(fd);
	close(lsi);
	close(check);
	EXPECT(!module_remove("peer_check") && !module_remove("peerpin_lsi") && !module_remove("peerpin_nv"), "%s",
	       strerror(errno));
	EXPECT(module_remove("peerpin") == -EWOULDBLOCK, "the module is removed");
	close(dmabuf);
	EXPECT(soon(peerpin_is_idle), "%d references to peerpin", module_refs("peerpin"));
	EXPECT(!module_remove("peerpin") && !load_all(), "%s", strerror(errno));
}

VMTEST_MAIN
