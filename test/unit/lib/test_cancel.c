// SPDX-License-Identifier: MIT
/* A cancelled thread calls functions that ask CUDA. All calls of the mock CUDA are cancellation points. */
#include <errno.h>
#include <peerpin.h>
#include <pthread.h>
#include "libpeerpin.h"
#include "test/unit/mock/mock_cuda.h"
#include "test/unit/mock/mock_kernel.h"
#include "test/unit/unit.h"

enum {
	MIB = 1 << 20,
	ID = 7,
	EPOCH = 3,
};

#define GPU ((void *)0x200000000)
#define HOST ((void *)0x555500000000)

static struct pp_ctx *ctx;
static struct pp_cache *cache;

static int setup(void **state)
{
	const struct pp_cache_attr attr = { .watch = PP_WATCH_TAG };

	(void)state;
	mock_reset();
	mock_cuda_reset();
	mock_allocations[0] = (struct mock_allocation){ .base = (uintptr_t)GPU, .size = 8 * MIB, .id = 1 };
	return pp_open(&ctx) ? -1 : pp_cache_create_ctx(ctx, &attr, &cache);
}

static int teardown(void **state)
{
	(void)state;
	pp_cache_destroy(cache);
	pp_close(ctx);
	mock_done();
	return 0;
}

static int done(void *arg)
{
	(void)arg;
	return 0;
}

static int pinned(void *arg)
{
	struct peerpin_pin *pin = arg;

	pin->out_addr = pin->addr;
	pin->out_length = pin->length;
	pin->out_region = pin->out_slot = ID;
	pin->out_epoch = mock_epochs[ID] = EPOCH;
	pin->out_provider = PEERPIN_PROVIDER_NV;
	return 0;
}

static int without_room(void *arg)
{
	((struct peerpin_pin *)arg)->out_reason = PEERPIN_REASON_NO_BAR1;
	return -ENOMEM;
}

/* ---- the thread -------------------------------------------------------------------- */

static int (*call)(void);
static int result;

static void *run(void *arg)
{
	pthread_cancel(pthread_self());
	result = call();
	return arg;
}

static void expect(int (*function)(void), int ret)
{
	pthread_t thread;
	void *end;

	call = function;
	result = 1;
	assert_int_equal(pthread_create(&thread, NULL, run, &result), 0);
	assert_int_equal(pthread_join(thread, &end), 0);
	assert_ptr_equal(end, &result);	/* else PTHREAD_CANCELED */
	assert_int_equal(result, ret);
}

/* ---- the functions ------------------------------------------------------------------- */

static int ask(void)
{
	struct pp_mem mem;

	return pp_query(GPU, &mem);
}

static int set_sync(void)
{
	return pp_sync_memops(GPU);
}

static void queries(void **state)
{
	(void)state;
	expect(ask, 0);
	expect(set_sync, 0);
}

static struct pp_region region;

static int pin(void)
{
	return pp_pin(ctx, GPU, 2 * MIB, &region, NULL);
}

static int unpin(void)
{
	return pp_unpin(ctx, &region);
}

static void pins(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_PIN, pinned);
	expect(pin, 0);
	mock_expect(PEERPIN_IOC_UNPIN, done);
	expect(unpin, 0);
	/* asks CUDA for the GPU's PCI address */
	mock_expect(PEERPIN_IOC_PIN, without_room);
	expect(pin, -ENOMEM);
}

static struct pp_watched watched;

static int watch(void)
{
	return pp_watch(ctx, HOST, MIB, &watched, NULL);
}

static int unwatch(void)
{
	return pp_unwatch(ctx, &watched);
}

static void watches(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_WATCH, done);
	expect(watch, 0);
	mock_expect(PEERPIN_IOC_UNWATCH, done);
	expect(unwatch, 0);
	mock_expect(PEERPIN_IOC_UNWATCH, done);		/* by pp_close() */
}

static int get_and_put(void)
{
	const struct pp_cache_entry *e;
	int ret = pp_cache_get(cache, GPU, MIB, &e, NULL);

	if (!ret)
		pp_cache_put(cache, e);
	return ret;
}

/* A hit asks for the buffer id. If the thread ended there, its reference would keep the entry pinned for ever. */
static void hits_by_buffer_id(void **state)
{
	struct pp_cache_stats s;

	(void)state;
	mock_expect(PEERPIN_IOC_PIN, pinned);
	expect(get_and_put, 0);
	expect(get_and_put, 0);
	pp_cache_stats(cache, &s);
	assert_int_equal(s.hits, 1);
	mock_expect(PEERPIN_IOC_UNPIN, done);
	pp_cache_flush(cache);
	mock_done();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(queries),
		TEST(pins),
		TEST(watches),
		TEST(hits_by_buffer_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
