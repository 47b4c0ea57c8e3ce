// SPDX-License-Identifier: MIT
/* The free callback of nv-p2p.h in the emulated driver, and concurrent calls. */
#include <stdatomic.h>

#include "thread.h"

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

CASE(free_runs_callback_in_its_thread)
{
	rules_watch(fd);
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA, 2 * PAGE) == 0 && get(2, VA + BLOCK, PAGE) == 0, "get");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(callback(0).out_count == 1 && callback(1).out_count == 1, "%u %u", callback(0).out_count,
	       callback(1).out_count);
	EXPECT(callback(2).out_count == 0, "the callback of the neighbouring block ran");
	EXPECT(callback(0).out_tid == (unsigned int)gettid(), "in thread %u", callback(0).out_tid);
	EXPECT(version(0) == POISON, "%#x", version(0));
	EXPECT_NO_BREACH(fd);
	EXPECT(emu_free(fd, VA + BLOCK) == 0, "free");
	EXPECT(nothing_pinned(), "pins are left");
}

CASE(callback_may_free_table_and_mapping)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0 && map(0, 2) == 0, "get, map");
	free_one();
	CHECK_CASE();
	EXPECT(callback(0).out_free_table == 0 && callback(0).out_free_map == 0, "%d %d", callback(0).out_free_table,
	       callback(0).out_free_map);
	EXPECT_NO_BREACH(fd);
}

CASE(callback_may_unmap)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, P2P_CHECK_IN_CALLBACK_UNMAP) == 0, "get");
	EXPECT(map(0, 0) == 0 && map(0, 1) == 0, "map");
	free_one();
	CHECK_CASE();
	EXPECT(callback(0).out_unmap == 0, "%d", callback(0).out_unmap);
	EXPECT_NO_BREACH(fd);
}

/* ---- order of a free -------------------------------------------------------- */

/*
 * Order of a free:
 * 1. The callback runs while pin, memory, mappings and table are valid.
 * 2. The mappings and the table end.
 * 3. BAR1 is released.
 * 4. The pin and the memory end.
 * 5. The free returns.
 */
CASE(memory_and_pin_outlive_the_callback)
{
	struct p2p_check_call slow = { .va = VA, .length = PAGE, .flags = P2P_CHECK_IN_CALLBACK_LEAVE_MAPS,
				       .sleep_ms = FREE_MS };
	uint64_t before = vram_free(), used;
	pthread_t thread;

	one_block();
	CHECK_CASE();
	EXPECT(call(P2P_CHECK_GET, slow) == 0 && map(0, 0) == 0, "get, map");
	used = vram_free();
	EXPECT(!pthread_create(&thread, NULL, thread_free_first_block, NULL), "thread");
	while (!callback(0).out_count)
		usleep(1000);
	EXPECT(bar1_used() == PAGE, "BAR1 was released before the callback ended");
	EXPECT(vram_free() == used, "the memory was freed before the callback ended");
	EXPECT(version(0) == 0x20000 && table_page(0, 0).out_entries == 1,
	       "the table was freed before the callback ended: %#x", version(0));
	EXPECT(thread_free_end(thread) == 0, "free");
	EXPECT(callback(0).out_version == 0x20000, "in the callback: %#x", callback(0).out_version);
	EXPECT(version(0) == POISON && nothing_pinned() && vram_free() == before, "%#x, %lu bytes of BAR1", version(0),
	       bar1_used());
}

CASE(pin_during_free_is_refused)
{
	pthread_t thread;
	double start;

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(thread_free_begin(&thread) == 0, "free");
	start = now();
	EXPECT(get(1, VA, PAGE) == -EINVAL, "get");
	EXPECT(thread_waited(start), "get did not wait for the callback: %.3f s", now() - start);
	EXPECT(thread_free_end(thread) == 0, "free");
	EXPECT(callback(0).out_count == 1 && callback(1).out_count == 0, "%u %u", callback(0).out_count,
	       callback(1).out_count);
	EXPECT_NO_BREACH(fd);
	EXPECT(nothing_pinned(), "pins are left");
}

/* ---- from another thread ---------------------------------------------------- */

CASE(put_waits_for_the_callback)
{
	pthread_t thread;
	double start;

	rules_watch(fd);
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA + BLOCK, PAGE) == 0, "get");
	EXPECT(thread_free_begin(&thread) == 0, "free");
	start = now();
	EXPECT(put(0) == 0, "put");
	EXPECT(thread_waited(start), "put returned after %.3f s", now() - start);
	EXPECT(callback(0).out_count == 1, "%u", callback(0).out_count);
	EXPECT(thread_free_end(thread) == 0, "free");
	EXPECT_NO_BREACH(fd);
	EXPECT(put(1) == 0 && emu_free(fd, VA + BLOCK) == 0, "put, free");
	EXPECT(nothing_pinned(), "pins are left");
}

/* The driver has one lock. So calls on other blocks wait for the callback, too. */
CASE(map_of_another_block_waits_too)
{
	pthread_t thread;
	double start;

	rules_watch(fd);
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA + BLOCK, PAGE) == 0, "get");
	EXPECT(thread_free_begin(&thread) == 0, "free");
	start = now();
	EXPECT(map(1, 0) == 0, "map");
	EXPECT(thread_waited(start), "map returned after %.3f s", now() - start);
	EXPECT(thread_free_end(thread) == 0, "free");
	EXPECT(unmap(1, 0) == 0 && put(1) == 0, "unmap, put");
	EXPECT_NO_BREACH(fd);
	EXPECT(emu_free(fd, VA + BLOCK) == 0 && nothing_pinned(), "pins are left");
}

/* A consumer's callback may wait for a thread of the consumer that is in unmap. */
CASE(unmap_does_not_wait_for_callback)
{
	pthread_t thread;
	double start;

	rules_watch(fd);
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA + BLOCK, PAGE) == 0 && map(1, 0) == 0, "get, map");
	EXPECT(thread_free_begin(&thread) == 0, "free");
	start = now();
	EXPECT(unmap(1, 0) == 0, "unmap");
	EXPECT(!thread_waited(start), "unmap returned after %.3f s", now() - start);
	EXPECT(thread_free_end(thread) == 0, "free");
	EXPECT(put(1) == 0 && emu_free(fd, VA + BLOCK) == 0, "put, free");
	EXPECT_NO_BREACH(fd);
	EXPECT(nothing_pinned(), "pins are left");
}

CASE(copies_do_not_wait_for_callback)
{
	pthread_t thread;
	char byte = 1;
	double start;

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(thread_free_begin(&thread) == 0, "free");
	start = now();
	EXPECT(emu_write(fd, VA + BLOCK, &byte, 1) == 0, "copy to another block");
	EXPECT(emu_write(fd, VA, &byte, 1) == -ENOENT, "copy to the block being freed");
	EXPECT(!thread_waited(start), "%.3f s", now() - start);
	EXPECT(thread_free_end(thread) == 0, "free");
	EXPECT(emu_free(fd, VA + BLOCK) == 0, "free");
}

static void *put_slot_0(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)put(0);
}

/* Either the put or the callback ends the pin, and only once. Both put and free return 0. */
CASE(free_races_with_put)
{
	unsigned int i, callbacks = 0;
	pthread_t thread;
	void *result;

	rules_watch(fd);
	for (i = 0; i < 300; i++) {
		EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && get(0, VA, BLOCK) == 0, "round %u", i);
		EXPECT(!pthread_create(&thread, NULL, put_slot_0, NULL), "thread");
		if (i % 3)
			usleep(i % 60);
		EXPECT(emu_free(fd, VA) == 0, "free in round %u", i);
		pthread_join(thread, &result);
		EXPECT(!result, "put: %ld", (long)result);
		EXPECT(callback(0).out_count <= 1, "%u callbacks", callback(0).out_count);
		callbacks += callback(0).out_count;
	}
	EXPECT(callbacks > 0 && callbacks < 300, "%u of 300 pins ended by the callback: no race happened", callbacks);
	EXPECT_NO_BREACH(fd);
	EXPECT(nothing_pinned(), "pins are left");
}

static atomic_bool stop;

/* Returns the number of errors that a racing free does not explain. */
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
		err = unmap(slot, 0);
		bad += err && err != -EINVAL;
		bad += put(slot) != 0;
	}
	return (void *)bad;
}

CASE(free_races_with_pin_and_map)
{
	uint64_t puts = counts().counts.out_put_calls, callbacks = counts().counts.out_callbacks;
	pthread_t threads[3];
	int i, rounds;
	void *bad;
	long sum = 0;

	rules_watch(fd);
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
	EXPECT(counts().counts.out_callbacks > callbacks, "no callbacks");
	EXPECT_NO_BREACH(fd);
	EXPECT(nothing_pinned(), "pins are left");
}

/* ---- ends other than free ---------------------------------------------------- */

CASE(unbind_of_gpu_runs_the_callbacks)
{
	struct emugpu_info info;

	rules_watch(fd);
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
	EXPECT(get(0, VA, PAGE) == -EINVAL, "get of a block from before the unbind");
	free_both();
	EXPECT_NO_BREACH(fd);
}

/* The calls WARN, like NVIDIA's driver: the suite line must expect a splat. */
CASE_BY_NAME(deadlocking_calls_in_callback_are_eio)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, P2P_CHECK_IN_CALLBACK_PUT | P2P_CHECK_IN_CALLBACK_GET |
		P2P_CHECK_IN_CALLBACK_MAP) == 0, "get");
	free_one();
	CHECK_CASE();
	EXPECT(callback(0).out_put == -EIO && callback(0).out_get == -EIO && callback(0).out_map == -EIO, "%d %d %d",
	       callback(0).out_put, callback(0).out_get, callback(0).out_map);
	EXPECT_BROKE(fd, EMUGPU_RULE_CALL_IN_CALLBACK, 3);
}

VMTEST_MAIN
