// SPDX-License-Identifier: MIT
/* The TEST ioctl, as tests of drivers use it. t_p2p_bar1 tests the BAR1 limit of this ioctl. */
#include "thread.h"

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

/* ---- revoke ------------------------------------------------------------------ */

CASE(revoke_ends_pins_keeps_the_block)
{
	rules_watch(fd);
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA + PAGE, PAGE) == 0 && get(2, VA + BLOCK, PAGE) == 0, "get");
	EXPECT(emu_revoke(fd, VA) == 0, "revoke");
	EXPECT(callback(0).out_count == 1 && callback(1).out_count == 1 && callback(2).out_count == 0, "%u %u %u",
	       callback(0).out_count, callback(1).out_count, callback(2).out_count);
	EXPECT(callback(0).out_tid == (unsigned int)gettid(), "in thread %u", callback(0).out_tid);
	EXPECT(pins() == 1, "%u pins", pins());
	EXPECT(get(0, VA, PAGE) == 0 && callback(0).out_count == 0 && put(0) == 0, "get once more");
	EXPECT(put(2) == 0, "put");
	EXPECT_NO_BREACH(fd);
	free_both();
}

CASE(revoke_range_ends_its_pin)
{
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA, 2 * PAGE) == 0 && get(2, VA + PAGE, PAGE) == 0, "get");
	EXPECT(emu_revoke_range(fd, VA, 3 * PAGE) == -ENOENT && emu_revoke_range(fd, VA + 2 * PAGE, PAGE) == -ENOENT,
	       "revoke of a range without a pin");
	EXPECT(emu_revoke_range(fd, VA, 2 * PAGE) == 0, "revoke");
	EXPECT(callback(0).out_count == 0 && callback(1).out_count == 1 && callback(2).out_count == 0, "%u %u %u",
	       callback(0).out_count, callback(1).out_count, callback(2).out_count);
	EXPECT(emu_revoke_range(fd, VA, 2 * PAGE) == -ENOENT, "twice");
	EXPECT(put(0) == 0 && put(2) == 0, "put");
	free_one();
}

static int revoke_as_another(void)
{
	return emu_revoke(emu_open(), VA) == -ENOENT ? 0 : 1;
}

CASE(revoke_sees_only_own_blocks)
{
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(emu_in_child(revoke_as_another) == 0 && callback(0).out_count == 0, "%u", callback(0).out_count);
	EXPECT(put(0) == 0, "put");
	free_one();
}

/* ---- delayed callbacks ------------------------------------------------------- */

static double revoke_seconds(void)
{
	double start = now();

	if (get(0, VA, PAGE) || emu_revoke(fd, VA))
		return -1;
	return now() - start;
}

CASE(next_n_callbacks_are_delayed)
{
	double taken;
	int i;

	one_block();
	CHECK_CASE();
	EXPECT(emu_delay_callbacks(fd, 600, 2) == 0, "delay");
	for (i = 0; i < 2; i++) {
		taken = revoke_seconds();
		EXPECT(taken > 0.59, "callback %d: %.3f s", i, taken);
	}
	taken = revoke_seconds();
	EXPECT(taken >= 0 && taken < 0.5, "the callback after the delayed ones took %.3f s", taken);
	free_one();
}

CASE(all_callbacks_are_delayed_until_reset)
{
	double taken;
	int i;

	one_block();
	CHECK_CASE();
	EXPECT(emu_delay_callback(fd, 500) == 0, "delay");
	for (i = 0; i < 3; i++) {
		taken = revoke_seconds();
		EXPECT(taken > 0.49, "callback %d: %.3f s", i, taken);
	}
	EXPECT(emu_delay_callback(fd, 0) == 0, "no delay");
	taken = revoke_seconds();
	EXPECT(taken >= 0 && taken < 0.4, "%.3f s", taken);
	free_one();
}

/* ---- failing calls ----------------------------------------------------------- */

CASE(the_nth_get_fails)
{
	one_block();
	CHECK_CASE();
	EXPECT(emu_fail(fd, 3, -ENOMEM) == 0, "fail");
	EXPECT(get(0, VA, PAGE) == 0, "first");
	EXPECT(get(1, VA + 1, PAGE) == -EINVAL, "bad arguments do not count");
	EXPECT(get_persistent(1, VA, PAGE) == 0, "second");
	EXPECT(get(2, VA, PAGE) == -ENOMEM && version(2) == POISON, "third: %#x", version(2));
	EXPECT(get(2, VA, PAGE) == 0, "fourth");
	EXPECT(put(0) == 0 && put_persistent(1) == 0 && put(2) == 0, "put");
	EXPECT(emu_fail(fd, 1, -EIO) == 0 && emu_fail(fd, 0, 0) == 0, "set and clear a failure");
	EXPECT(get(0, VA, PAGE) == 0 && put(0) == 0, "get");
	free_one();
}

CASE(the_nth_map_fails)
{
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(emu_fail_call(fd, EMUGPU_CALL_DMA_MAP_PAGES, 2, -ENOMEM) == 0, "fail");
	EXPECT(get(1, VA, PAGE) == 0 && put(1) == 0, "gets do not count");
	EXPECT(map(0, 0) == 0, "first");
	EXPECT(map(0, 1) == -ENOMEM && maps() == 1, "second: %u maps", maps());
	EXPECT(map(0, 1) == 0 && maps() == 2, "third: %u maps", maps());
	EXPECT(unmap(0, 0) == 0 && unmap(0, 1) == 0 && put(0) == 0, "unmap, put");
	free_one();
}

/* ---- scatter ----------------------------------------------------------------- */

static unsigned int neighbours(void)
{
	unsigned int i, n = 0;

	for (i = 1; i < BLOCK / PAGE; i++)
		n += table_page(0, i).out_phys == table_page(0, i - 1).out_phys + PAGE;
	return n;
}

static void check_neighbours(unsigned int on, unsigned int wanted)
{
	EXPECT(emu_scatter(fd, on) == 0, "scatter");
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, BLOCK) == 0, "get");
	EXPECT(neighbours() == wanted, "%u pages follow the one before", neighbours());
	EXPECT(put(0) == 0, "put");
	free_one();
}

CASE(scatter_applies_to_new_memory)
{
	check_neighbours(0, BLOCK / PAGE - 1);
	CHECK_CASE();
	check_neighbours(1, 0);
	CHECK_CASE();
	check_neighbours(0, BLOCK / PAGE - 1);
	EXPECT(emu_scatter(fd, 1) == 0, "scatter");
}

/* ---- counts ------------------------------------------------------------------ */

CASE(calls_are_counted)
{
	struct emugpu_test before = counts(), after;

	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA, PAGE) == 0 && get_persistent(2, VA, PAGE) == 0, "get");
	EXPECT(put(0) == 0 && put_persistent(2) == 0, "put");
	free_one();
	CHECK_CASE();
	after = counts();
	EXPECT(after.counts.out_get_calls == before.counts.out_get_calls + 3, "%llu gets",
	       after.counts.out_get_calls - before.counts.out_get_calls);
	EXPECT(after.counts.out_put_calls == before.counts.out_put_calls + 2, "%llu puts",
	       after.counts.out_put_calls - before.counts.out_put_calls);
	EXPECT(after.counts.out_callbacks == before.counts.out_callbacks + 1, "%llu callbacks",
	       after.counts.out_callbacks - before.counts.out_callbacks);
}

CASE(pins_and_blocks_count_per_gpu)
{
	struct emugpu_test other;
	struct emugpu_info info;

	if (emu_info(fd, 1, &info))
		SKIP("one GPU only; type: emu/vm/run --gpus 2 ...");
	EXPECT(emu_alloc_on(fd, 1, VA, BLOCK) == 0 && get(0, VA, PAGE) == 0 && map(0, 0) == 0, "alloc, get, map");
	EXPECT(emu_counts_of(fd, 1, &other) == 0, "counts");
	EXPECT(other.counts.out_pins == 1 && other.counts.out_dma_maps == 1 && other.counts.out_blocks == 1,
	       "GPU 1: %u %u %u", other.counts.out_pins, other.counts.out_dma_maps, other.counts.out_blocks);
	EXPECT(pins() == 0 && maps() == 0 && counts().counts.out_blocks == 0, "GPU 0: %u %u", pins(), maps());
	EXPECT(unmap(0, 0) == 0 && put(0) == 0, "unmap, put");
	free_one();
}

VMTEST_MAIN
