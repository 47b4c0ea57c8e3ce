// SPDX-License-Identifier: GPL-2.0
#include <linux/build_bug.h>
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "emugpu.h"
#include "api.h"
#include "block.h"
#include "client.h"
#include "event.h"
#include "export.h"
#include "gpu.h"
#include "guard.h"
#include "monitor.h"
#include "move.h"
#include "pin.h"
#include "stash.h"
#include "test.h"
#include "trap.h"
#include "vram.h"
#include "window.h"

enum { DELAY_MS_MAX = 10000 };

static int test_counts(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	memset(&test->counts, 0, sizeof(test->counts));
	emugpu_api_lock();
	emugpu_pin_count(gpu, &test->counts.out_pins, &test->counts.out_dma_maps);
	test->counts.out_blocks = emugpu_block_count(gpu);
	test->counts.out_imports = emugpu_imports_count();
	emugpu_api_unlock();
	test->counts.out_clients = emugpu_clients();
	test->counts.out_get_calls = atomic64_read(&emugpu_counters.get_calls);
	test->counts.out_put_calls = atomic64_read(&emugpu_counters.put_calls);
	test->counts.out_callbacks = atomic64_read(&emugpu_counters.callbacks);
	test->counts.out_violations = emugpu_monitor_total();
	test->counts.out_notified = emugpu_imports_notified();
	test->counts.out_import_calls = atomic64_read(&emugpu_counters.import_calls);
	return 0;
}

static int test_translate(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	u64 va = test->translate.va;
	struct emugpu_block *block = emugpu_block_get(va);
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
	if (EMUGPU_INTEGRATED)
		return -EOPNOTSUPP;
	if (test->cpu_window.mapped)
		return emugpu_window_open(gpu);
	emugpu_window_close(gpu);
	return 0;
}

static int test_delay_callback(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	if (test->delay.ms > DELAY_MS_MAX)
		return -EINVAL;
	emugpu_api_lock();
	emugpu_api_delay_callbacks(test->delay.ms, test->delay.count);
	emugpu_api_unlock();
	return 0;
}

static int revoke_locked(u64 va, u64 length, struct list_head *ended)
{
	struct emugpu_block *block = emugpu_block_find(va);
	struct emugpu_pin *pin;

	if (!block)
		return -ENOENT;
	if (!length) {
		emugpu_block_revoke(block, ended);
		return 0;
	}
	pin = emugpu_pin_of_range(block, va, length);
	if (!pin)
		return -ENOENT;
	emugpu_pin_revoke(pin);
	emugpu_guard_look();
	return 0;
}

static int test_revoke(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	LIST_HEAD(ended);
	int err;

	emugpu_api_lock();
	err = revoke_locked(test->revoke.va, test->revoke.length, &ended);
	emugpu_api_unlock();
	emugpu_export_notify(&ended);
	return err;
}

static int peek_at(struct emugpu_gpu *gpu, const struct emugpu_test *test, void *to)
{
	const void *from;
	int err = 0;

	emugpu_gpu_lock_claims(gpu);
	emugpu_window_lock_shared();
	from = emugpu_window_page(gpu, test->peek.vram_page);
	if (IS_ERR(from))
		err = PTR_ERR(from);
	else
		memcpy(to, from + test->peek.offset, test->peek.length);
	emugpu_window_unlock_shared();
	emugpu_gpu_unlock_claims(gpu);
	return err;
}

static int test_peek(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	void *copy;
	int err;

	if (test->peek.vram_page >= gpu->size / EMUGPU_PAGE_SIZE || test->peek.offset > EMUGPU_PAGE_SIZE ||
	    test->peek.length > EMUGPU_PAGE_SIZE - test->peek.offset)
		return -EINVAL;
	copy = kvmalloc(EMUGPU_PAGE_SIZE, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	err = peek_at(gpu, test, copy);
	if (!err && copy_to_user(u64_to_user_ptr(test->peek.buf), copy, test->peek.length))
		err = -EFAULT;
	kvfree(copy);
	return err;
}

static int test_fail(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	if (test->fail.call > EMUGPU_CALL_IMPORT)
		return -EINVAL;
	if (test->fail.nth && !(test->fail.error < 0 && test->fail.error >= -MAX_ERRNO))
		return -EINVAL;
	emugpu_api_lock();
	test->fail.out_left = emugpu_api_fail_nth(test->fail.call, test->fail.nth, test->fail.error);
	emugpu_api_unlock();
	return 0;
}

static int test_scatter(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	if (test->scatter.reserved || test->scatter.on > 1)
		return -EINVAL;
	emugpu_vram_scatter(test->scatter.on);
	return 0;
}

static int test_bar1_free(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	int err;

	emugpu_api_lock();
	err = emugpu_gpu_limit_bar1(gpu, test->bar1_free.bytes);
	emugpu_api_unlock();
	return err;
}

static int test_violations(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	BUILD_BUG_ON(sizeof(test->violations.out_module) != EMUGPU_MODULE_LEN);
	if (test->violations.reserved || test->violations.rule >= EMUGPU_RULES)
		return -EINVAL;
	test->violations.out_count = emugpu_monitor_count(test->violations.rule, test->violations.out_module);
	return 0;
}

static int test_plan(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	if (test->plan.action > EMUGPU_ACT_REVOKE_LATER)
		return -EINVAL;
	emugpu_event_plan(test->plan.nth, test->plan.action);
	return 0;
}

static int test_events(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	return emugpu_event_read(u64_to_user_ptr(test->events.buf), test->events.max, &test->events.out_count);
}

static int test_revoke_all(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	if (test->revoke_all.reserved || test->revoke_all.oldest_first > 1)
		return -EINVAL;
	emugpu_block_revoke_all(gpu, test->revoke_all.oldest_first);
	return 0;
}

static int test_guard(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	int err;

	if (test->guard.mapped > 1)
		return -EINVAL;
	emugpu_api_lock();
	err = emugpu_guard_set(test->guard.ms, test->guard.mapped);
	emugpu_api_unlock();
	if (!err)
		emugpu_trap_enable(test->guard.mapped);
	return err;
}

static int test_stash(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	if (test->stash.on > 1 || test->stash.reserved)
		return -EINVAL;
	return test->stash.on ? emugpu_stash_begin(test->stash.pid) : emugpu_stash_end(&test->stash.out_changed);
}

static int test_move(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test)
{
	return test->move.reserved ? -EINVAL : emugpu_move_set(test->move.ms);
}

static int (*const ops[])(struct emugpu_client *client, struct emugpu_gpu *gpu, struct emugpu_test *test) = {
	[EMUGPU_TEST_COUNTS] = test_counts,
	[EMUGPU_TEST_TRANSLATE] = test_translate,
	[EMUGPU_TEST_CPU_WINDOW] = test_cpu_window,
	[EMUGPU_TEST_DELAY_CALLBACK] = test_delay_callback,
	[EMUGPU_TEST_REVOKE] = test_revoke,
	[EMUGPU_TEST_PEEK] = test_peek,
	[EMUGPU_TEST_FAIL] = test_fail,
	[EMUGPU_TEST_SCATTER] = test_scatter,
	[EMUGPU_TEST_BAR1_FREE] = test_bar1_free,
	[EMUGPU_TEST_VIOLATIONS] = test_violations,
	[EMUGPU_TEST_PLAN] = test_plan,
	[EMUGPU_TEST_EVENTS] = test_events,
	[EMUGPU_TEST_REVOKE_ALL] = test_revoke_all,
	[EMUGPU_TEST_GUARD] = test_guard,
	[EMUGPU_TEST_STASH] = test_stash,
	[EMUGPU_TEST_MOVE] = test_move,
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
