// SPDX-License-Identifier: MIT
/* nvidia_p2p_get_pages: one case for each documented result of NVIDIA's driver. */
#include <pthread.h>

#include "p2p.h"

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

CASE(null_callback_is_einval)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, P2P_CHECK_NO_CALLBACK) == -EINVAL, "pinned");
	EXPECT(version(0) == P2P_CHECK_UNTOUCHED, "%#x", version(0));
	EXPECT_BROKE(fd, EMUGPU_RULE_NO_CALLBACK, 1);
	free_one();
}

CASE(null_result_is_einval)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, P2P_CHECK_NULL_RESULT) == -EINVAL, "pinned");
	EXPECT_BROKE(fd, EMUGPU_RULE_NULL_RESULT, 1);
	free_one();
}

CASE(unaligned_address_is_einval)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA + 4096, PAGE) == -EINVAL, "pinned");
	EXPECT(version(0) == P2P_CHECK_UNTOUCHED, "%#x", version(0));
	EXPECT(get(0, VA + PAGE - 1, PAGE) == -EINVAL, "pinned");
	EXPECT_BROKE(fd, EMUGPU_RULE_UNALIGNED, 2);
	free_one();
}

CASE(unaligned_length_is_einval)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, 4096) == -EINVAL, "pinned");
	EXPECT(version(0) == P2P_CHECK_UNTOUCHED, "%#x", version(0));
	EXPECT(get(0, VA, PAGE + 1) == -EINVAL, "pinned");
	EXPECT_BROKE(fd, EMUGPU_RULE_UNALIGNED, 2);
	free_one();
}

CASE(length_0_is_einval)
{
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, 0) == -EINVAL, "pinned");
	free_one();
}

CASE(unknown_memory_is_einval)
{
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA - PAGE, PAGE) == -EINVAL, "before the block");
	EXPECT(get(0, VA + BLOCK, PAGE) == -EINVAL, "after the block");
	EXPECT(get(0, 0, PAGE) == -EINVAL, "0");
	free_one();
}

CASE(freed_memory_is_einval)
{
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && put(0) == 0, "get, put");
	free_one();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == -EINVAL, "pinned");
}

CASE(host_memory_is_einval)
{
	void *host = aligned_alloc(PAGE, PAGE);
	int err;

	EXPECT(host, "no memory");
	memset(host, 1, PAGE);
	err = get(0, (uintptr_t)host, PAGE);
	free(host);
	EXPECT(err == -EINVAL, "%d", err);
}

/* CUDA marks some memory at its allocation as not for peers, for example managed memory. */
CASE(memory_not_for_peers_is_einval)
{
	struct emugpu_alloc alloc = { .va = VA, .size = BLOCK, .flags = EMUGPU_ALLOC_NO_P2P };

	EXPECT(emu_call(fd, EMUGPU_IOC_ALLOC, &alloc) == 0, "alloc");
	EXPECT(get(0, VA, PAGE) == -EINVAL && get_persistent(0, VA, PAGE) == -EINVAL, "pinned");
	free_one();
}

CASE(range_past_its_block_is_einval)
{
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA + BLOCK - PAGE, 2 * PAGE) == -EINVAL, "into the next");
	EXPECT(get(0, VA, 2 * BLOCK) == -EINVAL, "two blocks");
	EXPECT(get(0, VA + BLOCK, BLOCK + PAGE) == -EINVAL, "past the last block");
	EXPECT(get(0, VA, -PAGE) == -ENOMEM && version(0) == POISON, "length that overflows");
	EXPECT(get(0, VA, 1ull << 48) == -EINVAL, "length whose number of pages overflows");
	EXPECT(get(0, -PAGE, 2 * PAGE) == -EINVAL, "range that overflows");
	EXPECT(get(0, VA, BLOCK) == 0 && put(0) == 0, "the block itself");
	free_both();
}

static int pin_as_another(void)
{
	return get(1, VA, PAGE) == -EINVAL && get_persistent(1, VA, PAGE) == -EINVAL ? 0 : 1;
}

CASE(another_process_without_token_is_einval)
{
	one_block();
	CHECK_CASE();
	EXPECT(emu_in_child(pin_as_another) == 0, "a child pinned memory of its parent");
	EXPECT(pins() == 0, "%u", pins());
	free_one();
}

/* The child's block has the address of the parent's block. The driver must not confuse the two. */
static int pin_own_at_the_same_address(void)
{
	int own = emu_open();
	struct emugpu_test test;

	if (emu_alloc(own, VA, BLOCK) || get(1, VA, PAGE) || emu_translate(own, VA, &test))
		return 1;
	if (table_page(1, 0).out_phys != test.translate.out_phys)
		return 2;
	return put(1) ? 3 : 0;
}

CASE(processes_may_use_one_address)
{
	int status;

	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	status = emu_in_child(pin_own_at_the_same_address);
	EXPECT(status == 0, "%d", status);
	EXPECT(pins() == 1 && put(0) == 0, "%u pins", pins());
	free_one();
}

static void *pin_in_a_thread(void *result)
{
	*(int *)result = get(0, VA, PAGE);
	return NULL;
}

CASE(any_thread_may_pin)
{
	pthread_t thread;
	int err = 1;

	one_block();
	CHECK_CASE();
	EXPECT(!pthread_create(&thread, NULL, pin_in_a_thread, &err), "thread");
	pthread_join(thread, NULL);
	EXPECT(err == 0 && put(0) == 0, "%d", err);
	free_one();
}

CASE(late_failure_poisons_the_table_pointer)
{
	EXPECT(get(0, VA, PAGE) == -EINVAL, "unknown memory");
	EXPECT(version(0) == POISON, "%#x", version(0));
	EXPECT(get_persistent(0, VA, PAGE) == -EINVAL, "unknown memory");
	EXPECT(version(0) == POISON, "%#x", version(0));
}

CASE(unknown_error_is_eio)
{
	one_block();
	CHECK_CASE();
	EXPECT(emu_fail(fd, 1, -EIO) == 0, "fail");
	EXPECT(get(0, VA, PAGE) == -EIO, "get");
	EXPECT(version(0) == POISON && pins() == 0, "%#x, %u pins", version(0), pins());
	free_one();
}

CASE(success_fills_the_table)
{
	struct emugpu_info info;
	struct emugpu_test test;
	struct p2p_check_table table;
	unsigned int i;

	one_block();
	CHECK_CASE();
	EXPECT(emu_info(fd, 0, &info) == 0, "info");
	EXPECT(get(0, VA + PAGE, 8 * PAGE) == 0, "get");
	for (i = 0; i < 8; i++) {
		table = table_page(0, i);
		EXPECT(table.out_version == 0x20000, "%#x", table.out_version);
		EXPECT(table.out_page_size == 1, "%u", table.out_page_size);
		EXPECT(table.out_entries == 8, "%u", table.out_entries);
		EXPECT(table.out_flags == 0, "%#x", table.out_flags);
		EXPECT(!memcmp(table.out_uuid, info.out_uuid, 16), "uuid");
		EXPECT(emu_translate(fd, VA + (i + 1) * PAGE, &test) == 0, "translate");
		EXPECT(table.out_phys == test.translate.out_phys, "page %u: %#llx", i, table.out_phys);
	}
	EXPECT(put(0) == 0, "put");
	free_one();
}

CASE(physical_addresses_are_not_contiguous)
{
	uint64_t here, last;
	unsigned int i;

	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, BLOCK) == 0, "get");
	last = table_page(0, 0).out_phys;
	for (i = 1; i < BLOCK / PAGE; i++) {
		here = table_page(0, i).out_phys;
		EXPECT(here % PAGE == 0, "page %u: %#lx", i, here);
		EXPECT(here != last + PAGE, "page %u: %#lx follows the one before", i, here);
		last = here;
	}
	EXPECT(put(0) == 0, "put");
	free_one();
}

CASE(each_gpu_has_its_own_uuid)
{
	struct emugpu_info info[2];
	struct p2p_check_table table[2];
	unsigned int i;

	if (emu_info(fd, 1, &info[1]))
		SKIP("one GPU only; type: emu/vm/run --gpus 2 ...");
	EXPECT(emu_info(fd, 0, &info[0]) == 0, "info");
	EXPECT(memcmp(info[0].out_uuid, info[1].out_uuid, 16), "the same uuid");
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && emu_alloc_on(fd, 1, VA + BLOCK, BLOCK) == 0, "alloc");
	for (i = 0; i < 2; i++) {
		EXPECT(get(i, VA + i * BLOCK, PAGE) == 0, "get %u", i);
		table[i] = table_page(i, 0);
		EXPECT(!memcmp(table[i].out_uuid, info[i].out_uuid, 16), "GPU %u", i);
		EXPECT(put(i) == 0, "put %u", i);
	}
	EXPECT(table[0].out_phys != table[1].out_phys, "%#llx", table[0].out_phys);
	free_both();
}

CASE(calls_of_2011_are_enotsupp)
{
	EXPECT(with_flags(P2P_CHECK_INIT_MAPPING, 0, 0) == -P2P_CHECK_ENOTSUPP, "init_mapping");
	EXPECT(with_flags(P2P_CHECK_DESTROY_MAPPING, 0, 0) == -P2P_CHECK_ENOTSUPP, "destroy_mapping");
}

CASE(rsync_registers_are_enodev)
{
	EXPECT(with_flags(P2P_CHECK_GET_RSYNC_REGISTERS, 0, 0) == -ENODEV, "registers returned");
}

VMTEST_MAIN
