// SPDX-License-Identifier: MIT
/* Caches with a mock hook that sees all frees, was loaded too late, or has no memory. */
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include "libpeerpin.h"
#include "libpeerpin-hook.h"
#include "test/unit/mock/mock_cuda.h"
#include "test/unit/mock/mock_kernel.h"
#include "test/unit/unit.h"

static int hook_error;
static unsigned int added;
static struct pp_ctx *ctx;
static char untouched;
static struct pp_cache *cache;

__attribute__((visibility("default"))) int pp_hook_add(void (*gone)(void *arg, uint64_t addr, uint64_t length),
						       void *arg)
{
	(void)gone;
	(void)arg;
	added++;
	return hook_error;
}

static int setup(void **state)
{
	(void)state;
	mock_reset();
	mock_cuda_reset();
	mock_cuda_fd = 100;	/* the driver can export dma-bufs */
	added = 0;
	cache = (struct pp_cache *)&untouched;
	return pp_open(&ctx);
}

static int teardown(void **state)
{
	(void)state;
	pp_close(ctx);
	mock_done();
	return 0;
}

static int create_ctx(uint32_t watch)
{
	const struct pp_cache_attr attr = { .watch = watch };

	return pp_cache_create_ctx(ctx, &attr, &cache);
}

static int create_dmabuf(uint32_t watch)
{
	const struct pp_cache_attr attr = { .watch = watch };

	return pp_cache_create_dmabuf(&attr, &cache);
}

static int create_view(uint32_t watch)
{
	const struct pp_cache_attr attr = { .watch = watch };

	return pp_cache_create_view(&attr, &cache);
}

static int (*const kinds[])(uint32_t watch) = { create_ctx, create_dmabuf, create_view };

enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static void best_watch_falls_back(void **state)
{
	unsigned int i;

	(void)state;
	hook_error = -EOPNOTSUPP;
	for (i = 0; i < KINDS; i++) {
		assert_int_equal(kinds[i](PP_WATCH_BEST), 0);
		assert_int_equal(added, i + 1);
		pp_cache_destroy(cache);
	}
}

static void expect_failure(int (*create)(uint32_t watch), uint32_t watch, int error)
{
	assert_int_equal(create(watch), error);
	assert_ptr_equal(cache, &untouched);
}

static void missing_hook_is_refused(void **state)
{
	(void)state;
	hook_error = -EOPNOTSUPP;
	expect_failure(create_ctx, PP_WATCH_HOOK, -EOPNOTSUPP);
	expect_failure(create_dmabuf, PP_WATCH_HOOK, -EOPNOTSUPP);
}

static void a_failure_leaves_no_cache(void **state)
{
	unsigned int i;

	(void)state;
	hook_error = -ENOMEM;
	for (i = 0; i < KINDS; i++)
		expect_failure(kinds[i], PP_WATCH_BEST, -ENOMEM);
	expect_failure(create_ctx, PP_WATCH_HOOK, -ENOMEM);
}

/* ---- revocations without a free: a huge page is split, a GPU is unbound --------------- */

static uint32_t last_region;

static int pin_host(void *arg)
{
	struct peerpin_pin *pin = arg;

	pin->out_provider = PEERPIN_PROVIDER_HOST;
	pin->out_region = ++last_region;
	pin->out_slot = last_region;
	pin->out_epoch = mock_epochs[last_region] = 1;
	pin->out_page_size = 4096;
	pin->out_addr = pin->addr;
	pin->out_length = pin->length;
	return 0;
}

static int unpin(void *arg)
{
	(void)arg;
	return 0;
}

static void gets_the_last(void)
{
	const struct pp_cache_entry *e;
	const struct pp_region *region;

	assert_int_equal(pp_cache_get(cache, (void *)0x555500000000, 4096, &e, NULL), 0);
	region = e->reg;
	assert_int_equal(region->id, last_region);
	pp_cache_put(cache, e);
}

static void renews_revoked_pin(uint32_t watch)
{
	assert_int_equal(create_ctx(watch), 0);
	mock_expect(PEERPIN_IOC_PIN, pin_host);
	gets_the_last();
	gets_the_last();
	mock_epochs[last_region]++;
	mock_expect(PEERPIN_IOC_UNPIN, unpin);
	mock_expect(PEERPIN_IOC_PIN, pin_host);
	gets_the_last();
	mock_expect(PEERPIN_IOC_UNPIN, unpin);
	pp_cache_destroy(cache);
	mock_done();
}

static void every_watch_renews_revoked_pin(void **state)
{
	uint32_t watch;

	(void)state;
	hook_error = 0;
	for (watch = PP_WATCH_BEST; watch < PP_WATCH_NONE; watch++)
		renews_revoked_pin(watch);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(best_watch_falls_back),
		TEST(missing_hook_is_refused),
		TEST(a_failure_leaves_no_cache),
		TEST(every_watch_renews_revoked_pin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
