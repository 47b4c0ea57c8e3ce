// SPDX-License-Identifier: MIT
/* pp_watch(): one ioctl, and a word behind the words of the regions */
#include <errno.h>
#include <peerpin.h>
#include <sys/wait.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "test/unit/mock/mock_cuda.h"
#include "test/unit/mock/mock_kernel.h"
#include "test/unit/unit.h"

enum { SLOT = PEERPIN_MAX_REGIONS + 7 };

static struct pp_ctx *ctx;

static int setup(void **state)
{
	(void)state;
	mock_reset();
	mock_cuda_reset();
	return pp_open(&ctx);
}

static int unwatch_all(void *arg)
{
	const struct peerpin_unwatch *unwatch = arg;

	assert_int_equal(unwatch->size, sizeof(*unwatch));
	assert_int_equal(unwatch->watch, PEERPIN_WATCH_ALL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pp_close(ctx);
	mock_done();
	return 0;
}

static int watch_ok(void *arg)
{
	struct peerpin_watch *watch = arg;

	assert_int_equal(watch->size, sizeof(*watch));
	assert_int_equal(watch->flags, 0);
	assert_int_equal(watch->addr, 0x12345);
	assert_int_equal(watch->length, 100);
	watch->out_watch = 7;
	watch->out_slot = SLOT;
	watch->out_epoch = 3;
	mock_epochs[SLOT] = 3;
	return 0;
}

static void watch(struct pp_watched *w)
{
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	assert_int_equal(pp_watch(ctx, (void *)0x12345, 100, w, NULL), 0);
}

static void close_ends_all_watches(void **state)
{
	struct pp_watched w;

	(void)state;
	watch(&w);
	assert_int_equal(w.addr, 0x12345);
	assert_int_equal(w.length, 100);
	assert_int_equal(w.id, 7);
	assert_int_equal(w.slot, SLOT);
	assert_int_equal(w.epoch, 3);
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_all);
}

static void changed_word_is_not_valid(void **state)
{
	struct pp_watched w;

	(void)state;
	watch(&w);
	assert_int_equal(pp_watch_valid(ctx, &w), 1);
	mock_epochs[SLOT]++;
	assert_int_equal(pp_watch_valid(ctx, &w), 0);
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_all);
}

static int unwatch_7(void *arg)
{
	const struct peerpin_unwatch *unwatch = arg;

	assert_int_equal(unwatch->watch, 7);
	return 0;
}

static int unwatch_unknown(void *arg)
{
	(void)arg;
	return -ENOENT;
}

static void unwatch_passes_the_id(void **state)
{
	struct pp_watched w;

	(void)state;
	watch(&w);
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_7);
	assert_int_equal(pp_unwatch(ctx, &w), 0);
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_unknown);
	assert_int_equal(pp_unwatch(ctx, &w), -ENOENT);
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_all);
}

static int watch_over_limit(void *arg)
{
	struct peerpin_watch *watch = arg;

	watch->out_reason = PEERPIN_REASON_WATCHED_BYTES;
	watch->out_needed = 8192;
	watch->out_available = 4096;
	return -EDQUOT;
}

static void failure_has_a_reason(void **state)
{
	struct pp_watched w;
	struct pp_why why;

	(void)state;
	mock_expect(PEERPIN_IOC_WATCH, watch_over_limit);
	assert_int_equal(pp_watch(ctx, (void *)0x12345, 100, &w, &why), -EDQUOT);
	assert_int_equal(why.reason, PEERPIN_REASON_WATCHED_BYTES);
	assert_int_equal(why.needed, 8192);
	assert_int_equal(why.available, 4096);
	assert_int_equal(pp_watch(ctx, NULL, 0, NULL, &why), -EINVAL);
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_all);
}

static void gpu_and_managed_memory_is_refused(void **state)
{
	struct pp_watched w;
	struct pp_why why;

	(void)state;
	mock_cuda_loaded = true;
	mock_allocations[0] = (struct mock_allocation){ .base = 0x200000, .size = 0x200000, .id = 9 };
	assert_int_equal(pp_watch(ctx, (void *)0x200000, 100, &w, &why), -EOPNOTSUPP);
	assert_int_equal(why.reason, PEERPIN_REASON_NONE);
	mock_allocations[0].managed = true;
	assert_int_equal(pp_watch(ctx, (void *)0x200000, 100, &w, &why), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_MANAGED);
}

static int no_such_command(void *arg)
{
	(void)arg;
	return -ENOTTY;
}

static void older_module_has_no_watches(void **state)
{
	struct pp_watched w;

	(void)state;
	pp_close(ctx);
	mock_reset();
	mock_epoch_bytes = PEERPIN_MAX_REGIONS * sizeof(uint32_t);
	assert_int_equal(pp_open(&ctx), 0);
	mock_expect(PEERPIN_IOC_WATCH, no_such_command);
	assert_int_equal(pp_watch(ctx, (void *)0x12345, 100, &w, NULL), -EOPNOTSUPP);
	mock_expect(PEERPIN_IOC_UNWATCH, no_such_command);
}

/* Returns true if the parent's watch is of no use here. */
static bool is_refused_in_child(const struct pp_watched *w)
{
	struct pp_watched other;

	return pp_watch(ctx, (void *)0x12345, 100, &other, NULL) == -EACCES && pp_unwatch(ctx, w) == -EACCES &&
	       !pp_watch_valid(ctx, w);
}

static void child_cannot_use_watches(void **state)
{
	struct pp_watched w;
	int status = 0;
	pid_t child;

	(void)state;
	watch(&w);
	child = fork();
	if (!child)
		_exit(!is_refused_in_child(&w));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(close_ends_all_watches, setup, teardown),
		cmocka_unit_test_setup_teardown(changed_word_is_not_valid, setup, teardown),
		cmocka_unit_test_setup_teardown(unwatch_passes_the_id, setup, teardown),
		cmocka_unit_test_setup_teardown(failure_has_a_reason, setup, teardown),
		cmocka_unit_test_setup_teardown(gpu_and_managed_memory_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(older_module_has_no_watches, setup, teardown),
		cmocka_unit_test_setup_teardown(child_cannot_use_watches, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
