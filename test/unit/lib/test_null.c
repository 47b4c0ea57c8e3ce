// SPDX-License-Identifier: MIT
/* Functions that make an object refuse NULL, before they make a system call. */
#include <errno.h>
#include <sys/mman.h>
#include "libpeerpin.h"
#include "test/unit/mock/mock_cuda.h"
#include "test/unit/mock/mock_kernel.h"
#include "test/unit/unit.h"

static struct pp_ctx *ctx;
static struct pp_cache *cache;
static char memory[4096];

static int setup(void **state)
{
	(void)state;
	mock_reset();
	mock_cuda_reset();
	return pp_open(&ctx) || pp_cache_create_ctx(ctx, NULL, &cache);
}

static int teardown(void **state)
{
	(void)state;
	pp_cache_destroy(cache);
	pp_close(ctx);
	mock_done();
	return 0;
}

static void open_refuses_null(void **state)
{
	(void)state;
	assert_int_equal(pp_open(NULL), -EINVAL);
	assert_int_equal(pp_bar1(0, NULL), -EINVAL);
}

static void pin_refuses_null(void **state)
{
	struct pp_region region = { .length = 4096 };

	(void)state;
	assert_int_equal(pp_pin(NULL, memory, 1, &region, NULL), -EINVAL);
	assert_int_equal(pp_pin(ctx, memory, 1, NULL, NULL), -EINVAL);
	assert_int_equal(pp_pin_with(NULL, memory, 1, 0, &region, NULL), -EINVAL);
	assert_int_equal(pp_pin_with(ctx, memory, 1, 0, NULL, NULL), -EINVAL);
	assert_int_equal(pp_pin_dmabuf(NULL, 3, 0, 4096, &region, NULL), -EINVAL);
	assert_int_equal(pp_pin_dmabuf(ctx, 3, 0, 4096, NULL, NULL), -EINVAL);
}

static void map_and_export_refuse_null(void **state)
{
	struct pp_region region = { .length = 4096 };
	void *view;
	int fd;

	(void)state;
	assert_int_equal(pp_region_map(NULL, &region, 0, 4096, PROT_READ, &view), -EINVAL);
	assert_int_equal(pp_region_map(ctx, NULL, 0, 4096, PROT_READ, &view), -EINVAL);
	assert_int_equal(pp_region_map(ctx, &region, 0, 4096, PROT_READ, NULL), -EINVAL);
	assert_int_equal(pp_region_export(NULL, &region, 0, 4096, &fd), -EINVAL);
	assert_int_equal(pp_region_export(ctx, NULL, 0, 4096, &fd), -EINVAL);
	assert_int_equal(pp_region_export(ctx, &region, 0, 4096, NULL), -EINVAL);
	assert_int_equal(pp_dmabuf_export(memory, 1, NULL, NULL), -EINVAL);
}

static int no_pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	(void)arg, (void)addr, (void)length, (void)reg, (void)why;
	return -ENOMEM;
}

static void no_unpin(void *arg, void *reg)
{
	(void)arg, (void)reg;
}

static void cache_creation_refuses_null(void **state)
{
	const struct pp_cache_ops ops = { .pin = no_pin, .unpin = no_unpin };
	struct pp_cache *out;

	(void)state;
	assert_int_equal(pp_cache_create(NULL, NULL, NULL, &out), -EINVAL);
	assert_int_equal(pp_cache_create(&ops, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(pp_cache_create_ctx(NULL, NULL, &out), -EINVAL);
	assert_int_equal(pp_cache_create_ctx(ctx, NULL, NULL), -EINVAL);
	assert_int_equal(pp_cache_create_dmabuf(NULL, NULL), -EINVAL);
	assert_int_equal(pp_cache_create_view(NULL, NULL), -EINVAL);
}

static void peer_and_file_refuse_null(void **state)
{
	struct pp_peer *peer;

	(void)state;
	assert_int_equal(pp_peer_open(NULL, cache, &peer), -EINVAL);
	assert_int_equal(pp_peer_open("lsi0", NULL, &peer), -EINVAL);
	assert_int_equal(pp_peer_open("lsi0", cache, NULL), -EINVAL);
	assert_int_equal(pp_file_open(0, NULL, NULL), -EINVAL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(open_refuses_null),
		TEST(pin_refuses_null),
		TEST(map_and_export_refuse_null),
		TEST(cache_creation_refuses_null),
		TEST(peer_and_file_refuse_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
