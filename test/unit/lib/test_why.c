// SPDX-License-Identifier: MIT
/* Text that the library adds to the kernel's reason for a failed pin. */
#include <errno.h>
#include <peerpin.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "test/unit/mock/mock_cuda.h"
#include "test/unit/mock/mock_kernel.h"
#include "test/unit/mock/mock_nvml.h"
#include "test/unit/unit.h"

#define MIB (1ull << 20)
#define GPU ((void *)0x200000000)
#define HOST ((void *)0x555500000000)

static struct pp_ctx *ctx;
static struct pp_region region;
static struct pp_why why;
static struct peerpin_pin asked;	/* argument of the last PIN */
static uint32_t reason;			/* reason in the kernel's answer */
static uint64_t available;

static int setup(void **state)
{
	(void)state;
	mock_reset();
	mock_cuda_reset();
	mock_nvml_loaded = true;
	mock_nvml_lost = 0;
	mock_allocations[0] = (struct mock_allocation) {
		.base = (uintptr_t)GPU, .size = 8 * MIB, .id = 1,
	};
	why = (struct pp_why){ ~0u, ~0ull, ~0ull };
	reason = PEERPIN_REASON_NONE;
	available = 0;
	return pp_open(&ctx);
}

static int teardown(void **state)
{
	(void)state;
	pp_close(ctx);
	mock_done();
	return 0;
}

static int pin_refused(void *arg)
{
	struct peerpin_pin *pin = arg;

	asked = *pin;
	pin->out_reason = reason;
	pin->out_needed = 8 * MIB;
	pin->out_available = available;
	return reason == PEERPIN_REASON_NO_BAR1 ? -ENOMEM : -EINVAL;
}

static int pin_ok(void *arg)
{
	asked = *(struct peerpin_pin *)arg;
	return 0;
}

static int unpin_ok(void *arg)
{
	(void)arg;
	return 0;
}

static int pin_with(void *addr, uint32_t flags)
{
	return pp_pin_with(ctx, addr, 8 * MIB, flags, &region, &why);
}

static void free_bar1_is_reported(void **state)
{
	(void)state;
	reason = PEERPIN_REASON_NO_BAR1;
	mock_expect(PEERPIN_IOC_PIN, pin_refused);
	errno = 1234;
	assert_int_equal(pin_with(GPU, 0), -ENOMEM);
	assert_int_equal(why.reason, PEERPIN_REASON_NO_BAR1);
	assert_int_equal(why.needed, 8 * MIB);
	assert_int_equal(why.available, (MOCK_NVML_GPUS - 1 - 3) * MIB);
	assert_int_equal(errno, 1234);
}

static void lost_gpu_hides_no_other(void **state)
{
	(void)state;
	mock_nvml_lost = 2;
	reason = PEERPIN_REASON_NO_BAR1;
	mock_expect(PEERPIN_IOC_PIN, pin_refused);
	assert_int_equal(pin_with(GPU, 0), -ENOMEM);
	assert_int_equal(why.available, (MOCK_NVML_GPUS - 1 - 3) * MIB);
}

static void kernel_reason_is_kept(void **state)
{
	(void)state;
	reason = PEERPIN_REASON_NO_BAR1;
	available = 5;
	mock_expect(PEERPIN_IOC_PIN, pin_refused);
	assert_int_equal(pin_with(GPU, 0), -ENOMEM);
	assert_int_equal(why.available, 5);
	reason = PEERPIN_REASON_PROCESS_BYTES;
	available = 0;
	mock_expect(PEERPIN_IOC_PIN, pin_refused);
	assert_int_equal(pin_with(GPU, 0), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_PROCESS_BYTES);
	assert_int_equal(why.available, 0);
}

static void *ask_cancelled(void *arg)
{
	struct pp_bar1 bar1;

	pthread_cancel(pthread_self());
	*(int *)arg = pp_bar1(0, &bar1);
	return arg;
}

static void nvml_call_is_not_cancelled(void **state)
{
	pthread_t thread;
	void *result;
	int ret = -1;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, ask_cancelled, &ret), 0);
	pthread_join(thread, &result);
	assert_ptr_equal(result, &ret);
	assert_int_equal(ret, 0);
}

static void without_nvml_bar1_is_unknown(void **state)
{
	(void)state;
	mock_nvml_loaded = false;
	reason = PEERPIN_REASON_NO_BAR1;
	mock_expect(PEERPIN_IOC_PIN, pin_refused);
	assert_int_equal(pin_with(GPU, 0), -ENOMEM);
	assert_int_equal(why.available, 0);
}

static void without_cuda_bar1_is_unknown(void **state)
{
	(void)state;
	mock_cuda_loaded = false;
	reason = PEERPIN_REASON_NO_BAR1;
	mock_expect(PEERPIN_IOC_PIN, pin_refused);
	assert_int_equal(pin_with(GPU, 0), -ENOMEM);
	assert_int_equal(why.available, 0);
}

static void cache_reports_free_bar1(void **state)
{
	const struct pp_cache_entry *e;
	struct pp_cache *cache;

	(void)state;
	assert_int_equal(pp_cache_create_ctx(ctx, NULL, &cache), 0);
	reason = PEERPIN_REASON_NO_BAR1;
	mock_expect(PEERPIN_IOC_PIN, pin_refused);
	assert_int_equal(pp_cache_get(cache, GPU, 8 * MIB, &e, &why), -ENOMEM);
	assert_int_equal(why.available, (MOCK_NVML_GPUS - 1 - 3) * MIB);
	pp_cache_destroy(cache);
}

static void managed_memory_is_refused(void **state)
{
	(void)state;
	mock_allocations[0].managed = true;
	assert_int_equal(pin_with(GPU, 0), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_MANAGED);
	assert_int_equal(why.needed, 0);
	assert_int_equal(pin_with(GPU, PEERPIN_PIN_PERSISTENT), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_MANAGED);
}

static void persistent_flag_reaches_kernel(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	assert_int_equal(pin_with(GPU, PEERPIN_PIN_PERSISTENT), 0);
	assert_int_equal(asked.flags, PEERPIN_PIN_PERSISTENT);
	assert_int_equal(asked.provider, PEERPIN_PROVIDER_NV);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
}

static void plain_pins_have_no_flags(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	assert_int_equal(pp_pin(ctx, GPU, 1, &region, NULL), 0);
	assert_int_equal(asked.flags, 0);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
}

/* After a first refused pin the driver was loaded. The old reason must not appear in the second result. */
static void stale_reason_is_no_reason(void **state)
{
	(void)state;
	reason = PEERPIN_REASON_NO_PROVIDER;
	mock_expect(PEERPIN_IOC_PIN, pin_refused);
	mock_expect(PEERPIN_IOC_PIN, pin_refused);
	assert_int_equal(pin_with(GPU, 0), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_NO_PROVIDER);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	assert_int_equal(pin_with(GPU, 0), 0);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
}

static void persistent_host_pin_is_refused(void **state)
{
	(void)state;
	assert_int_equal(pin_with(HOST, PEERPIN_PIN_PERSISTENT), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_NOT_GPU);
}

/* Without CUDA, the kernel finds out the kind of memory. */
static void persistent_unmapped_pin_is_refused(void **state)
{
	(void)state;
	mock_cuda_loaded = false;
	reason = PEERPIN_REASON_NOT_MAPPED;
	mock_expect(PEERPIN_IOC_PIN, pin_refused);
	assert_int_equal(pin_with(HOST, PEERPIN_PIN_PERSISTENT), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_NOT_GPU);
	mock_expect(PEERPIN_IOC_PIN, pin_refused);
	assert_int_equal(pin_with(HOST, 0), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_NOT_MAPPED);
}

static int in_child(struct pp_cache *cache)
{
	const struct pp_cache_entry *e;

	if (pin_with(GPU, 0) != -EACCES || why.reason != PEERPIN_REASON_NOT_OWNED)
		return 1;
	why.reason = 0;
	if (pp_pin_dmabuf(ctx, 0, 0, 4096, &region, &why) != -EACCES ||
	    why.reason != PEERPIN_REASON_NOT_OWNED)
		return 2;
	why.reason = 0;
	if (pp_cache_get(cache, GPU, 1, &e, &why) != -EACCES ||
	    why.reason != PEERPIN_REASON_NOT_OWNED)
		return 3;
	return 0;
}

static void child_does_not_own_file(void **state)
{
	struct pp_cache *cache;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(pp_cache_create_ctx(ctx, NULL, &cache), 0);
	pid = fork();
	if (!pid)
		_exit(in_child(cache));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	pp_cache_destroy(cache);
}

static int no_pin(void *arg, uint64_t addr, uint64_t length, void **reg,
		  struct pp_why *w)
{
	(void)arg, (void)addr, (void)length, (void)reg, (void)w;
	return -EIO;
}

static void no_unpin(void *arg, void *reg)
{
	(void)arg, (void)reg;
}

/* A free changes no epoch of a persistent pin. An unknown flag may mean another such pin. */
static void unjudged_pins_are_refused(void **state)
{
	static const struct pp_cache_attr attrs[] = {
		{ .pin_flags = PEERPIN_PIN_PERSISTENT, .watch = PP_WATCH_EPOCH },
		{ .pin_flags = PEERPIN_PIN_PERSISTENT | PEERPIN_PIN_PCIE, .watch = PP_WATCH_EPOCH },
		{ .pin_flags = PEERPIN_PIN_PCIE, .watch = PP_WATCH_TAG },
		{ .pin_flags = PEERPIN_PIN_PERSISTENT | 4, .watch = PP_WATCH_TAG },
	};
	const struct pp_cache_ops ops = { .pin = no_pin, .unpin = no_unpin };
	struct pp_cache *cache;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(attrs) / sizeof(*attrs); i++)
		assert_int_equal(pp_cache_create_ctx(ctx, &attrs[i], &cache), -EOPNOTSUPP);
	assert_int_equal(pp_cache_create(&ops, NULL, &(struct pp_cache_attr){ .pin_flags = 1 }, &cache), -EINVAL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(free_bar1_is_reported),
		TEST(lost_gpu_hides_no_other),
		TEST(kernel_reason_is_kept),
		TEST(nvml_call_is_not_cancelled),
		TEST(without_nvml_bar1_is_unknown),
		TEST(without_cuda_bar1_is_unknown),
		TEST(cache_reports_free_bar1),
		TEST(managed_memory_is_refused),
		TEST(persistent_flag_reaches_kernel),
		TEST(plain_pins_have_no_flags),
		TEST(stale_reason_is_no_reason),
		TEST(persistent_host_pin_is_refused),
		TEST(persistent_unmapped_pin_is_refused),
		TEST(child_does_not_own_file),
		TEST(unjudged_pins_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
