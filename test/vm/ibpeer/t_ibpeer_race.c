// SPDX-License-Identifier: MIT
/* Frees, kills, stops and removal of the client race with registrations. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "ibpeer.h"
#include "test/vm/harness/forbid.h"
#include "test/vm/harness/group.h"

SETUP(everything_is_there)
{
	EXPECT_SHIM();
	EXPECT(!client_load("persistent=0"), "load");
	EXPECT_CLEAN();
}

/* Extra seconds in which a slow machine may see all events */
enum { SLOW = 30 };

static atomic_bool over;

struct loop {
	unsigned int core;
	unsigned int registered;
	unsigned int refused;
	unsigned int copied;
	int wrong;
};

static bool may_be(int ret)
{
	return !ret || ret == -ESTALE || ret == -ENXIO;
}

static void loop_once(struct loop *loop)
{
	int mr = mr_open(), to = mr_open();
	int ret = mr_register(mr, GPU_A, GPU_PAGE, IB_PEER_CHIP, loop->core);
	int copied = -ESTALE;

	if (!ret && !mr_register(to, GPU_A + GPU_PAGE, GPU_PAGE, IB_PEER_CHIP, loop->core))
		copied = mr_copy(to, 0, mr, 0, GPU_PAGE);
	loop->registered += !ret;
	loop->refused += ret < 0;
	loop->copied += !copied;
	if (!may_be(ret))
		loop->wrong = ret;
	if (!may_be(copied))
		loop->wrong = copied;
	if (mr_state(mr).out_overdue || mr_state(to).out_overdue)
		loop->wrong = -EDEADLK;
	close(to);
	close(mr);
}

static void *loop_register(void *arg)
{
	while (!over)
		loop_once(arg);
	return NULL;
}

/* True if all events were seen. The guard is on: a write by the chip after the free is a breach. */
static bool all_was_seen(const struct loop *loop)
{
	return loop->registered && loop->refused && loop->copied;
}

static void race(unsigned int core)
{
	struct loop loop = { .core = core };
	double end = now() + 3;
	char module[48];
	pthread_t thread;

	over = false;
	EXPECT(!emu_guard(gpu, 20), "guard");
	pthread_create(&thread, NULL, loop_register, &loop);
	while (now() < end || (!all_was_seen(&loop) && now() < end + SLOW)) {
		gpu_alloc(GPU_A);
		usleep((unsigned int)(now() * 1e6) % 4000);
		emu_free(gpu, GPU_A);
	}
	over = true;
	pthread_join(thread, NULL);
	EXPECT(!emu_guard(gpu, 0), "guard");
	printf("# core %u: %u registered, %u refused, %u copied\n", core, loop.registered, loop.refused, loop.copied);
	EXPECT(!loop.wrong, "%d", loop.wrong);
	EXPECT(all_was_seen(&loop), "%u registered, %u refused, %u copied", loop.registered,
	       loop.refused, loop.copied);
	EXPECT(!emu_violations(gpu, EMUGPU_RULE_DMA_AFTER_CALLBACK, module), "DMA after the free");
	ibpeer_expect_clean(__LINE__);
}

CASE(free_at_any_moment)
{
	race(0);
	CHECK_CASE();
	race(IB_PEER_OLD_CORE);
	CHECK_CASE();
	race(IB_PEER_OLD_CORE | IB_PEER_RELEASES);
}

/* ---- processes -------------------------------------------------------------------- */

static void *free_again_and_again(void *arg)
{
	int own = *(int *)arg;

	for (;;) {
		gpu_alloc_in(own, GPU_A);
		usleep(500);
		emu_free(own, GPU_A);
	}
	return NULL;
}

static void register_until_killed(struct loop *loop)
{
	int own = emu_open();
	pthread_t thread;

	pthread_create(&thread, NULL, free_again_and_again, &own);
	for (;;)
		loop_once(loop);
}

CASE(kill_at_any_moment)
{
	struct loop *loop = mmap(NULL, sizeof(*loop), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int i;
	pid_t pid;

	EXPECT(loop != MAP_FAILED, "mmap");
	for (i = 0; i < 40 || (i < 400 && !loop->registered); i++) {
		pid = fork();
		if (!pid)
			register_until_killed(loop);
		usleep(2000 + i * 511 % (i < 40 ? 20000 : 200000));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	printf("# %u registered, %u refused, %u copied\n", loop->registered, loop->refused, loop->copied);
	EXPECT(loop->registered && !loop->wrong, "%u registered, wrong: %d", loop->registered, loop->wrong);
	munmap(loop, sizeof(*loop));
	EXPECT_CLEAN();
}

static struct loop *shared_loop(void)
{
	void *p = mmap(NULL, sizeof(struct loop), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void *register_for_ever(void *loop)
{
	for (;;)
		loop_once(loop);
	return NULL;
}

/* The process owns the memory. Its other threads register while this thread makes a forbidden call. */
static void break_the_rules(struct loop *loop, unsigned int us)
{
	pthread_t threads[2];
	int own = emu_open();

	if (gpu_alloc_in(own, GPU_A) || pthread_create(&threads[0], NULL, register_for_ever, loop) ||
	    pthread_create(&threads[1], NULL, register_for_ever, loop))
		_exit(1);
	while (!__atomic_load_n(&loop->copied, __ATOMIC_RELAXED))
		usleep(100);
	usleep(us);
	forbidden_call();
	_exit(2);
}

CASE(seccomp_kill_during_registration)
{
	struct loop *loop = shared_loop();
	int i, status;
	pid_t pid;

	EXPECT(loop, "mmap");
	for (i = 0; i < vmtest_rounds(20); i++) {
		loop->copied = 0;
		pid = fork();
		if (!pid)
			break_the_rules(loop, i * 511 % 5000);
		EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "status %#x", status);
		EXPECT_CLEAN();
	}
	EXPECT(!loop->wrong, "%d", loop->wrong);
	munmap(loop, sizeof(*loop));
}

/* ---- a stopped process ------------------------------------------------------------------ */

static void register_in_group(struct loop *loop)
{
	int own = emu_open();

	if (!group_join() || gpu_alloc_in(own, GPU_A))
		_exit(1);
	register_for_ever(loop);
}

static void unbind_beside_frozen_process(struct loop *loop, unsigned int us)
{
	struct emugpu_info there;
	double start;
	int status;
	pid_t pid;

	loop->copied = 0;
	EXPECT(!emu_info(gpu, 0, &there), "info");
	pid = fork();
	if (!pid)
		register_in_group(loop);
	while (!__atomic_load_n(&loop->copied, __ATOMIC_RELAXED) && !waitpid(pid, NULL, WNOHANG))
		usleep(100);
	usleep(us);
	EXPECT(group_freeze(), "the group is not frozen");
	start = now();
	EXPECT(!emu_sysfs(&there, "unbind"), "unbind");
	/* a removal that waited for the process would never end; a busy machine takes 3 s */
	EXPECT(now() - start < 10, "the removal took %.1f s", now() - start);
	EXPECT(!emu_sysfs(&there, "bind") && !waitpid(pid, &status, WNOHANG), "bind");
	EXPECT(!kill(pid, SIGKILL) && group_thaw() && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status),
	       "status %#x", status);
}

/* The process is stopped with registrations, between two calls or in one. The GPU's driver revokes them. */
CASE(frozen_owner_delays_no_removal)
{
	struct loop *loop = shared_loop();
	int i;

	EXPECT(loop && group_make(), "a control group: %s", strerror(errno));
	for (i = 0; i < vmtest_rounds(12) && vmtest_result == VMTEST_OK; i++)
		unbind_beside_frozen_process(loop, i * 613 % 5000);
	CHECK_CASE();
	EXPECT(!loop->wrong && group_end(), "%d", loop->wrong);
	munmap(loop, sizeof(*loop));
	EXPECT_CLEAN();
}

/* ---- the client ---------------------------------------------------------------------- */

CASE(client_removal_at_any_moment)
{
	struct loop loop = { 0 };
	unsigned int removed = 0;
	double end = now() + 3;
	pthread_t thread;
	int ret = 0;

	over = false;
	EXPECT(!gpu_alloc(GPU_A), "alloc");
	pthread_create(&thread, NULL, loop_register, &loop);
	while (now() < end || (!(removed && loop.registered && loop.refused) && now() < end + SLOW)) {
		ret = client_remove();
		if (!ret) {
			removed++;
			ret = client_load(removed % 2 ? "" : "persistent=0");
		}
		if (ret && ret != -EAGAIN)
			break;
	}
	over = true;
	pthread_join(thread, NULL);
	EXPECT(!ret || ret == -EAGAIN, "%d", ret);
	printf("# %u times removed, %u registered, %u refused\n", removed, loop.registered, loop.refused);
	EXPECT(removed && loop.registered && loop.refused && !loop.wrong, "%u removed, %u registered, %u refused, %d",
	       removed, loop.registered, loop.refused, loop.wrong);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

CASE(nothing_is_left)
{
	EXPECT(!client_remove(), "remove");
	EXPECT_CLEAN();
}

VMTEST_MAIN
