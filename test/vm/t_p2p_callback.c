// SPDX-License-Identifier: MIT
/*
 * The emulated driver's side of nv-p2p.h: the free callback, and everything
 * that can happen at the same time.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "p2p.h"

CASE(nodes_are_there)
{
	EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --gpus 1 ...");
	EXPECT(check >= 0, "no /dev/p2p_check; type: emu/vm/run --insmod build/KERNEL/test/p2p_check.ko ...");
}

CASE(free_runs_the_callback_in_its_thread)
{
	uint64_t before = violations();

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA, 2 * PAGE) == 0 && get(2, VA + BLOCK, PAGE) == 0, "get");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(callback(0).out_count == 1 && callback(1).out_count == 1, "%u %u", callback(0).out_count,
	       callback(1).out_count);
	EXPECT(callback(2).out_count == 0, "the neighbour's ran too");
	EXPECT(callback(0).out_tid == (unsigned int)gettid(), "in thread %u", callback(0).out_tid);
	EXPECT(version(0) == 0x6b6b6b6b, "%#x", version(0));
	EXPECT(put(0) == 0, "put after the callback");
	EXPECT(map(0, 0) == -EINVAL, "map after the callback");
	EXPECT(violations() == before, "%lu", violations());
	EXPECT(emu_free(fd, VA + BLOCK) == 0, "free");
	EXPECT(nothing_pinned(), "left");
}

CASE(a_callback_may_unmap_and_free)
{
	two_blocks();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, P2P_CHECK_IN_CALLBACK_UNMAP | P2P_CHECK_IN_CALLBACK_FREE) == 0, "get");
	EXPECT(map(0, 0) == 0, "map");
	free_both();
	CHECK_CASE();
	EXPECT(callback(0).out_unmap == 0 && callback(0).out_free == 0, "%d %d", callback(0).out_unmap,
	       callback(0).out_free);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void *free_first_block(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)emu_free(fd, VA);
}

CASE(put_waits_for_a_callback_that_runs)
{
	uint64_t before = violations();
	pthread_t thread;
	void *result;
	double start;

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA + BLOCK, PAGE) == 0, "get");
	EXPECT(emu_delay_callback(fd, 400) == 0, "delay");
	start = now();
	EXPECT(!pthread_create(&thread, NULL, free_first_block, NULL), "thread");
	usleep(100000);
	EXPECT(put(0) == 0, "put");
	EXPECT(now() - start > 0.35, "put returned after %.3f s", now() - start);
	EXPECT(callback(0).out_count == 1, "%u", callback(0).out_count);
	pthread_join(thread, &result);
	EXPECT(!result, "free: %ld", (long)result);
	EXPECT(emu_delay_callback(fd, 0) == 0, "delay");
	EXPECT(violations() == before, "%lu", violations());
	EXPECT(put(1) == 0 && emu_free(fd, VA + BLOCK) == 0, "put, free");
	EXPECT(nothing_pinned(), "left");
}

CASE(copies_go_on_while_a_callback_runs)
{
	pthread_t thread;
	char byte = 1;
	double start;

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(emu_delay_callback(fd, 400) == 0, "delay");
	EXPECT(!pthread_create(&thread, NULL, free_first_block, NULL), "thread");
	usleep(100000);
	start = now();
	EXPECT(emu_write(fd, VA + BLOCK, &byte, 1) == 0, "copy to another block");
	EXPECT(emu_write(fd, VA, &byte, 1) == -ENOENT, "copy to the block that goes");
	EXPECT(now() - start < 0.2, "%.3f s", now() - start);
	pthread_join(thread, NULL);
	EXPECT(emu_delay_callback(fd, 0) == 0, "delay");
	EXPECT(emu_free(fd, VA + BLOCK) == 0, "free");
}

CASE(the_death_of_the_process_runs_the_callback)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	EXPECT(!pipe(ready), "%s", strerror(errno));
	pid = fork();
	if (!pid) {
		if (!emu_alloc(emu_open(), VA, BLOCK) && !get(0, VA, BLOCK) && !map(0, 0) &&
		    write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	EXPECT(read(ready[0], &byte, 1) == 1, "child");
	close(ready[0]);
	EXPECT(counts().counts.out_pins == 1 && callback(0).out_count == 0, "before");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	EXPECT(callback(0).out_count == 1, "%u", callback(0).out_count);
	EXPECT(nothing_pinned(), "left");
}

/* A process that pins, leaves its file to a child of its own, and is gone */
static int pin_and_bequeath(int *until)
{
	char byte;

	if (emu_alloc(emu_open(), VA, BLOCK) || get(0, VA, BLOCK))
		return 1;
	if (fork())
		return 0;
	close(until[1]);
	return read(until[0], &byte, 1) == 0 ? 0 : 1;
}

static bool soon_nothing_pinned(void)
{
	int i;

	for (i = 0; i < 200 && !nothing_pinned(); i++)
		usleep(10000);
	return nothing_pinned();
}

CASE(the_last_close_runs_the_callback_in_whatever_process)
{
	int until[2], status;
	pid_t pid;

	EXPECT(!pipe(until), "%s", strerror(errno));
	pid = fork();
	if (!pid)
		_exit(pin_and_bequeath(until));
	close(until[0]);
	waitpid(pid, &status, 0);
	EXPECT(status == 0, "%#x", status);
	EXPECT(counts().counts.out_pins == 1 && callback(0).out_count == 0, "ran with the owner's death");
	close(until[1]);
	EXPECT(soon_nothing_pinned(), "left");
	EXPECT(callback(0).out_count == 1, "%u", callback(0).out_count);
	EXPECT(callback(0).out_tid != (unsigned int)pid, "ran in the owner");
}

CASE(a_revoked_block_can_be_pinned_again)
{
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(emu_revoke(fd, VA) == 0, "revoke");
	EXPECT(callback(0).out_count == 1 && nothing_pinned(), "%u", callback(0).out_count);
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(callback(0).out_count == 0, "%u", callback(0).out_count);
	EXPECT(put(0) == 0, "put");
	free_both();
}

static atomic_bool stop;

static void *pin_for_ever(void *arg)
{
	unsigned int slot = (uintptr_t)arg;
	long bad = 0;
	int err;

	while (!stop) {
		err = get(slot, VA, BLOCK);
		if (err) {
			bad += err != -EINVAL;
			continue;
		}
		err = map(slot, 0);
		bad += err && err != -EINVAL;
		bad += put(slot) != 0;
	}
	return (void *)bad;
}

CASE(free_against_pin_and_put)
{
	uint64_t before = violations(), puts = counts().counts.out_put_calls;
	pthread_t threads[3];
	void *bad;
	long sum = 0;
	int i, rounds;

	stop = false;
	for (i = 0; i < 3; i++)
		EXPECT(!pthread_create(&threads[i], NULL, pin_for_ever, (void *)(uintptr_t)i), "thread");
	for (rounds = 0; rounds < 300; rounds++)
		if (emu_alloc(fd, VA, BLOCK) || usleep(500) || emu_free(fd, VA))
			break;
	stop = true;
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], &bad);
		sum += (long)bad;
	}
	EXPECT(rounds == 300, "stopped at %d", rounds);
	EXPECT(!sum, "%ld calls failed otherwise than allowed", sum);
	EXPECT(counts().counts.out_put_calls > puts + 100, "hardly any pins");
	EXPECT(violations() == before, "%lu", violations() - before);
	EXPECT(nothing_pinned(), "left");
}

CASE(unbinding_the_gpu_runs_the_callbacks)
{
	struct emugpu_info info;

	two_blocks();
	CHECK_CASE();
	EXPECT(emu_info(fd, 0, &info) == 0, "info");
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0 && get(1, VA + BLOCK, PAGE) == 0, "get");
	EXPECT(emu_sysfs(&info, "unbind") == 0, "unbind");
	EXPECT(callback(0).out_count == 1 && callback(1).out_count == 1, "%u %u", callback(0).out_count,
	       callback(1).out_count);
	EXPECT(put(0) == 0, "put");
	EXPECT(get(0, VA, PAGE) == -EINVAL, "get");
	EXPECT(emu_sysfs(&info, "bind") == 0, "bind");
	EXPECT(get(0, VA, PAGE) == -EINVAL, "get of a block that is gone");
	free_both();
}

/* They WARN, as on the real driver: whoever names this case expects a splat. */
CASE_BY_NAME(calls_that_would_deadlock_in_a_callback)
{
	two_blocks();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, P2P_CHECK_IN_CALLBACK_PUT | P2P_CHECK_IN_CALLBACK_GET |
		P2P_CHECK_IN_CALLBACK_MAP) == 0, "get");
	free_both();
	CHECK_CASE();
	EXPECT(callback(0).out_put == -EIO && callback(0).out_get == -EIO && callback(0).out_map == -EIO, "%d %d %d",
	       callback(0).out_put, callback(0).out_get, callback(0).out_map);
}

VMTEST_MAIN
