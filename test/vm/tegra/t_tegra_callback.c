// SPDX-License-Identifier: MIT
/* Tegra's nv-p2p.h: the callback after other ends than put_pages, concurrent calls, and removal of modules. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#include "tegra.h"

/* Number of pins: more than the emulator has tombstones */
enum { MANY = 2100 };

SETUP(nodes_are_there)
{
	EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --tegra ...");
	EXPECT(check >= 0, "no /dev/tegra_check; type: emu/vm/run --tegra --insmod build/KERNEL/test/tegra_check.ko ...");
}

CASE(free_runs_callback_in_its_thread)
{
	uint64_t before = violations();

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA, 2 * PAGE) == 0 && get(2, VA + BLOCK, PAGE) == 0, "get");
	EXPECT(dma_map(0, 0) == 0, "map");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(callbacks(0) == 1 && callbacks(1) == 1 && callbacks(2) == 0, "%u %u %u", callbacks(0), callbacks(1),
	       callbacks(2));
	EXPECT(seen(0).seen.out_tid == (unsigned int)gettid(), "in thread %u", seen(0).seen.out_tid);
	EXPECT(counts().counts.out_dma_maps == 0, "%u maps", counts().counts.out_dma_maps);
	EXPECT(emu_free(fd, VA + BLOCK) == 0, "free");
	EXPECT(violations() == before, "%lu", violations() - before);
	EXPECT(nothing_pinned(), "pins are left");
}

/* Tests of the discrete GPU check this in more detail. */
CASE(revoke_before_get_returns)
{
	struct emugpu_event event[2];
	unsigned int n;

	two_blocks();
	CHECK_CASE();
	EXPECT(emu_plan(fd, 1, EMUGPU_ACT_REVOKE) == 0 && get(0, VA, PAGE) == 0, "plan, get");
	EXPECT(callbacks(0) == 1 && seen(0).seen.out_tid != (unsigned int)gettid(), "%u callbacks", callbacks(0));
	EXPECT(nothing_pinned(), "pins are left");
	EXPECT(get(0, VA, PAGE) == 0 && dma_map(0, 0) == 0 && emu_revoke_all(fd, 0) == 0, "get, map, revoke");
	EXPECT(callbacks(0) == 1 && nothing_pinned(), "%u callbacks", callbacks(0));
	EXPECT(emu_events(fd, event, 2, &n) == 0 && n == 3, "%u events", n);
	EXPECT(event[1].kind == EMUGPU_EVENT_PIN && !strcmp(event[1].module, "tegra_check"), "%u by %s", event[1].kind,
	       event[1].module);
	free_both();
}

CASE(guard_and_stash_are_unsupported)
{
	unsigned int changed;

	EXPECT(emu_guard(fd, 1) == -EOPNOTSUPP, "guard");
	EXPECT(emu_stash(fd, 1, &changed) == -EOPNOTSUPP && emu_stash(fd, 0, &changed) == -EOPNOTSUPP, "stash");
}

static int put_as_another(void)
{
	return put(0) == 0 ? 0 : 1;
}

static int get_as_another(void)
{
	return get(1, VA, PAGE) == -EINVAL ? 0 : 1;
}

CASE(only_the_owner_may_get)
{
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(emu_in_child(get_as_another) == 0, "the child pinned memory of its parent");
	EXPECT(emu_in_child(put_as_another) == 0, "put");
	EXPECT(callbacks(0) == 1 && nothing_pinned(), "%u", callbacks(0));
	free_both();
}

/* In a child: allocate, mmap, pin, map for the peer, report, and wait to be killed. */
static void child_pins(int ready)
{
	fd = emu_open();
	if (!alloc_host(VA, BLOCK) && map_at(VA, BLOCK) != MAP_FAILED &&
	    !get_flags(0, VA, BLOCK, TEGRA_CHECK_KFREE_LATER) && !dma_map(0, 0) && write(ready, "x", 1) == 1)
		pause();
	_exit(1);
}

CASE(kill_calls_the_callback)
{
	uint64_t before = violations();
	int ready[2], status;
	char byte;
	pid_t pid;

	EXPECT(!pipe(ready), "%s", strerror(errno));
	pid = fork();
	if (!pid)
		child_pins(ready[1]);
	close(ready[1]);
	EXPECT(read(ready[0], &byte, 1) == 1, "child");
	close(ready[0]);
	EXPECT(counts().counts.out_pins == 1 && callbacks(0) == 0, "pin of the child");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	EXPECT(callbacks(0) == 1, "%u", callbacks(0));
	EXPECT(nothing_pinned() && vram_free() == 64 * MIB, "pins or memory are left");
	EXPECT(violations() == before, "%lu", violations() - before);
	/* The first put releases the MMU notifier of the pin. A second put is a violation. */
	EXPECT(!put(0) && callbacks(0) == 1 && violations() == before, "put: %lu", violations() - before);
	EXPECT(put(0) == -EINVAL && violations() == before + 1, "put again: %lu", violations() - before);
}

/* In a child: leak a table, and pin again. The new table gets the address of the leaked table. */
static void child_leaves_a_table(void)
{
	fd = emu_open();
	_exit(alloc_host(VA, BLOCK) || get_flags(0, VA, BLOCK, TEGRA_CHECK_KEEP_TABLE) || put(0) ||
	      get_flags(0, VA, BLOCK, TEGRA_CHECK_KFREE_LATER));
}

CASE(put_finds_the_newest_table)
{
	uint64_t before = violations();
	int status;
	pid_t pid = fork();

	if (!pid)
		child_leaves_a_table();
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "status %#x", status);
	EXPECT(violations() == before + 1, "the leak: %lu", violations() - before);
	EXPECT(!put(0) && violations() == before + 1, "put: %lu", violations() - before);
}

/* The process has exited. The driver puts its pin late, after pins of other processes were made and revoked. */
CASE(late_put_after_exit_is_found)
{
	uint64_t before = violations();
	int status, i, bad = 0;
	pid_t pid = fork();

	if (!pid) {
		fd = emu_open();
		_exit(alloc_host(VA, BLOCK) || get_flags(0, VA, BLOCK, TEGRA_CHECK_KFREE_LATER));
	}
	EXPECT(waitpid(pid, &status, 0) == pid && !status && callbacks(0) == 1, "status %#x", status);
	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	for (i = 0; i < MANY; i++)
		bad += get(1, VA, PAGE) || emu_revoke(fd, VA);
	EXPECT(!bad && callbacks(1) == 1, "%d failed", bad);
	EXPECT(!put(0) && violations() == before, "put: %lu", violations() - before);
	EXPECT(emu_free(fd, VA) == 0 && nothing_pinned(), "pins are left");
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

CASE(put_waits_for_another_callback)
{
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
	EXPECT(put(1) == 0, "put");
	EXPECT(now() - start > 0.75, "after %.3f s", now() - start);
	pthread_join(thread, &result);
	EXPECT(emu_delay_callback(fd, 0) == 0, "delay");
	EXPECT(!result && callbacks(0) == 1 && callbacks(1) == 1, "%u %u", callbacks(0), callbacks(1));
	EXPECT(emu_free(fd, VA + BLOCK) == 0 && nothing_pinned(), "pins are left");
}

static atomic_bool stop;

/* Returns the number of errors. Each successful get must have exactly one callback. */
static void *pin_for_ever(void *arg)
{
	unsigned int slot = (uintptr_t)arg;
	long bad = 0;
	int err;

	while (!stop) {
		err = get_flags(slot, VA, BLOCK, TEGRA_CHECK_KFREE_LATER);
		if (err) {
			bad += err != -EINVAL;
			continue;
		}
		err = dma_map_to(slot, 0, TO_DEVICE);
		bad += err && err != -EINVAL;
		err = put(slot);
		bad += err && err != -EINVAL;
		bad += callbacks(slot) != 1;
	}
	return (void *)bad;
}

CASE(free_races_with_get_and_put)
{
	uint64_t puts = counts().counts.out_put_calls;
	pthread_t threads[3];
	void *bad;
	long sum = 0;
	int i, rounds;

	stop = false;
	for (i = 0; i < 3; i++)
		EXPECT(!pthread_create(&threads[i], NULL, pin_for_ever, (void *)(uintptr_t)i), "thread");
	for (rounds = 0; rounds < 200; rounds++)
		if (alloc_host(VA, BLOCK) || usleep(500) || emu_free(fd, VA))
			break;
	stop = true;
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], &bad);
		sum += (long)bad;
	}
	EXPECT(rounds == 200, "stopped at %d", rounds);
	EXPECT(!sum, "%ld calls failed otherwise than allowed", sum);
	EXPECT(counts().counts.out_put_calls > puts + 100, "hardly any pins");
	EXPECT(nothing_pinned() && vram_free() == 64 * MIB, "pins or memory are left");
}

/* ---- modules ------------------------------------------------------------------------ */

static int users_of(const char *module)
{
	char path[64];
	int n = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &n) != 1)
		n = -1;
	fclose(file);
	return n;
}

CASE(pin_keeps_the_module)
{
	int before;

	two_blocks();
	CHECK_CASE();
	before = users_of("emugpu_tegra");
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(users_of("emugpu_tegra") == before + 1, "%d users, then %d", before, users_of("emugpu_tegra"));
	EXPECT(syscall(SYS_delete_module, "emugpu_tegra", O_NONBLOCK) && errno == EWOULDBLOCK, "%s", strerror(errno));
	EXPECT(put(0) == 0, "put");
	EXPECT(users_of("emugpu_tegra") == before, "%d users, then %d", before, users_of("emugpu_tegra"));
	free_both();
}

/* The calls WARN, like NVIDIA's driver: the suite line must expect a splat. */
CASE_BY_NAME(deadlocking_calls_in_callback_are_EIO)
{
	int64_t before = breaches(EMUGPU_RULE_CALL_IN_CALLBACK);

	two_blocks();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, TEGRA_CHECK_CALL_OTHERS) == 0 && put(0) == 0, "get, put");
	EXPECT(seen(0).seen.out_get == -EIO && seen(0).seen.out_dma_map == -EIO && seen(0).seen.out_put == -EIO,
	       "%d %d %d", seen(0).seen.out_get, seen(0).seen.out_dma_map, seen(0).seen.out_put);
	EXPECT(breaches(EMUGPU_RULE_CALL_IN_CALLBACK) == before + 3, "no violation reported");
	free_both();
}

CASE_BY_NAME(free_of_a_mapped_table)
{
	two_blocks();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, TEGRA_CHECK_KEEP_MAPS) == 0 && dma_map(0, 0) == 0, "get, map");
	EXPECT(put(0) == 0, "put");
	free_both();
}

/* Removes tegra_check: no case can follow in this VM. */
CASE_BY_NAME(removal_reports_leaked_pins)
{
	int64_t before = breaches(EMUGPU_RULE_PIN_LEAKED);

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && dma_map(0, 0) == 0, "get, map");
	close(check);
	EXPECT(!syscall(SYS_delete_module, "tegra_check", O_NONBLOCK), "%s", strerror(errno));
	EXPECT(breaches(EMUGPU_RULE_PIN_LEAKED) == before + 1, "no violation reported");
	free_both();
}

VMTEST_MAIN
