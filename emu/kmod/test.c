// SPDX-License-Identifier: GPL-2.0
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../include/emugpu.h"
#include "api.h"
#include "block.h"
#include "control.h"
#include "dma.h"
#include "gpu.h"
#include "pin.h"
#include "test.h"
#include "window.h"

enum { DELAY_MS_MAX = 10000 };

static void count_block(const struct emugpu_block *block, void *arg)
{
	struct emugpu_test *test = arg;
	struct emugpu_pin *pin;

	test->counts.out_blocks++;
	list_for_each_entry(pin, &block->pins, node) {
		test->counts.out_pins++;
		test->counts.out_dma_maps += emugpu_dma_count(pin);
	}
}

static int test_counts(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	memset(&test->counts, 0, sizeof(test->counts));
	emugpu_api_lock();
	emugpu_block_for_each(gpu, count_block, test);
	emugpu_api_unlock();
	test->counts.out_clients = emugpu_control_clients();
	test->counts.out_get_calls = atomic64_read(&emugpu_counters.get_calls);
	test->counts.out_put_calls = atomic64_read(&emugpu_counters.put_calls);
	test->counts.out_callbacks = atomic64_read(&emugpu_counters.callbacks);
	test->counts.out_violations = atomic64_read(&emugpu_counters.violations);
	return 0;
}

static int test_translate(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	u64 va = test->translate.va;
	struct emugpu_block *block = emugpu_block_get(client->owner, va);
	u32 page;

	if (!block)
		return -ENOENT;
	page = block->pages[(va - block->va) / EMUGPU_PAGE_SIZE];
	test->translate.out_vram_page = page;
	test->translate.out_phys = emugpu_gpu_page_phys(block->gpu, page) + va % EMUGPU_PAGE_SIZE;
	emugpu_block_put(block);
	return 0;
}

static int test_cpu_window(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	if (test->cpu_window.reserved || test->cpu_window.mapped > 1)
		return -EINVAL;
	if (test->cpu_window.mapped)
		return emugpu_window_open(gpu);
	emugpu_window_close(gpu);
	return 0;
}

static int test_delay_callback(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	if (test->delay.reserved || test->delay.ms > DELAY_MS_MAX)
		return -EINVAL;
	emugpu_api_delay_callbacks(test->delay.ms);
	return 0;
}

static int test_revoke(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	struct emugpu_block *block;
	int err = -ENOENT;

	emugpu_api_lock();
	block = emugpu_block_find(client->owner, test->revoke.va);
	if (block) {
		emugpu_block_revoke(block);
		err = 0;
	}
	emugpu_api_unlock();
	return err;
}

static int peek(const struct emugpu_gpu *gpu, const struct emugpu_test *test)
{
	const void *from = emugpu_window_page(gpu, test->peek.vram_page);

	if (IS_ERR(from))
		return PTR_ERR(from);
	if (copy_to_user(u64_to_user_ptr(test->peek.buf), from + test->peek.offset, test->peek.length))
		return -EFAULT;
	return 0;
}

static int test_peek(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	int err;

	if (test->peek.vram_page >= gpu->size / EMUGPU_PAGE_SIZE || test->peek.offset > EMUGPU_PAGE_SIZE ||
	    test->peek.length > EMUGPU_PAGE_SIZE - test->peek.offset)
		return -EINVAL;
	emugpu_window_lock_shared();
	err = peek(gpu, test);
	emugpu_window_unlock_shared();
	return err;
}

static int test_fail(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	if (test->fail.nth && !(test->fail.error < 0 && test->fail.error >= -MAX_ERRNO))
		return -EINVAL;
	emugpu_api_lock();
	emugpu_pin_fail_nth(test->fail.nth, test->fail.error);
	emugpu_api_unlock();
	return 0;
}

static int (*const ops[])(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test) = {
	[EMUGPU_TEST_COUNTS] = test_counts,
	[EMUGPU_TEST_TRANSLATE] = test_translate,
	[EMUGPU_TEST_CPU_WINDOW] = test_cpu_window,
	[EMUGPU_TEST_DELAY_CALLBACK] = test_delay_callback,
	[EMUGPU_TEST_REVOKE] = test_revoke,
	[EMUGPU_TEST_PEEK] = test_peek,
	[EMUGPU_TEST_FAIL] = test_fail,
};

int emugpu_test(struct emugpu_client *client, struct emugpu_test *test)
{
	struct emugpu_gpu *gpu;
	int err;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (test->op >= ARRAY_SIZE(ops))
		return -EINVAL;
	gpu = emugpu_gpu_get(test->gpu);
	if (!gpu)
		return -ENODEV;
	err = ops[test->op](client, gpu, test);
	emugpu_gpu_put(gpu);
	return err;
}
