// SPDX-License-Identifier: MIT
/* Memory regions of host memory, with a mock adapter. */
#include <sys/resource.h>
#include "verbs_case.h"

static void host_memory_covers_whole_pages(void **state)
{
	const struct pp_mr *mr;

	(void)state;
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	mr = once(HOST + 5000, 4000);
	assert_int_equal(mr->way, PP_MR_HOST);
	assert_int_equal(mr->addr, HOST + 4096);
	assert_int_equal(mr->length, 2 * 4096);
	assert_int_equal(pinned.addr, HOST + 4096);
	assert_int_equal(pinned.length, 2 * 4096);
	assert_int_equal(mock_verbs.last.fd, -1);
	assert_ptr_equal(once(HOST + 4096, 8192), mr);
	assert_int_equal(mock_verbs.calls, 1);
}

static void unmapped_memory_is_registered_again(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	once(HOST, 4096);
	mock_epochs[1]++;
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	once(HOST, 4096);
	assert_int_equal(mock_verbs.calls, 2);
	assert_int_equal(mock_verbs.live, 1);
}

static void unmap_first(void)
{
	mock_epochs[next_region]++;
}

/*
 * The memory is unmapped between the pin and the end of the registration. The adapter may then
 * have registered new memory at this address, and no pin watches the new memory.
 */
static void unmap_during_registration_fails(void **state)
{
	(void)state;
	mock_verbs.on_reg = unmap_first;
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	assert_int_equal(error_of(HOST, 4096), -ESTALE);
	assert_int_equal(mock_verbs.live, 0);
	explains(-ESTALE, "the memory was freed while it was being pinned");
}

static void unmapped_host_memory_is_refused(void **state)
{
	(void)state;
	mock_verbs.pointer_error = EFAULT;
	mock_expect(PEERPIN_IOC_PIN, pin_not_mapped);
	assert_int_equal(error_of(HOST, 4096), -EFAULT);
	assert_int_equal(why.count, 1);
	assert_string_equal(why.attempt[0].call, "ibv_reg_mr");
	explains(-EFAULT, "host memory: ibv_reg_mr: Bad address");
}

static void without_module_nothing_is_cached(void **state)
{
	const struct pp_mr *a, *b;

	(void)state;
	a = must_reg(HOST, 4096);
	b = must_reg(HOST, 4096);
	assert_ptr_not_equal(a, b);
	assert_int_equal(mock_verbs.live, 2);
	pp_verbs_unreg(verbs, a);
	assert_int_equal(mock_verbs.live, 1);
	pp_verbs_unreg(verbs, b);
	once(HOST, 4096);
	assert_int_equal(mock_verbs.calls, 3);
	assert_int_equal(mock_verbs.live, 1);
}

/* For example read-only memory: the kernel pins writable memory only. */
static void unpinnable_memory_is_not_cached(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_PIN, pin_not_mapped);
	once(HOST, 4096);
	mock_expect(PEERPIN_IOC_PIN, pin_not_mapped);
	once(HOST, 4096);
	assert_int_equal(mock_verbs.calls, 2);
}

static void memlock_for_one_registration_suffices(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_PIN, pin_over_limit);
	once(HOST, 4096);
	assert_int_equal(mock_verbs.live, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	once(HOST, 4096);
	assert_int_equal(mock_verbs.live, 1);
}

static void memlock_limit_is_explained(void **state)
{
	(void)state;
	mock_verbs.pointer_error = ENOMEM;
	mock_expect(PEERPIN_IOC_PIN, pin_over_limit);
	assert_int_equal(error_of(HOST, 4096), -ENOMEM);
	explains(-ENOMEM, "host memory: ibv_reg_mr: Cannot allocate memory "
		 "(the limit of locked memory may be too low; see: ulimit -l)");
}

static void full_adapter_evicts_host_memory(void **state)
{
	(void)state;
	mock_verbs.room = 1;
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	once(HOST, 4096);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);	/* the region whose registration failed */
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);	/* the idle region */
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	once(HOST + MIB, 4096);
	assert_int_equal(mock_verbs.live, 1);
}

static struct rlimit before;

static int setup_limited(void **state)
{
	struct rlimit limit;

	getrlimit(RLIMIT_MEMLOCK, &before);
	limit = before;
	limit.rlim_cur = 16 * 4096;
	return setrlimit(RLIMIT_MEMLOCK, &limit) || setup(state);
}

static int teardown_limited(void **state)
{
	setrlimit(RLIMIT_MEMLOCK, &before);
	return teardown(state);
}

static int pin_all_but_a_little(void *arg)
{
	mock_verbs.pointer_error = ENOMEM;
	return pin_ok(arg);
}

static int unpin_all(void *arg)
{
	mock_verbs.pointer_error = 0;
	return unpin_ok(arg);
}

/* A range of more than half of the limit cannot be both pinned and registered. Evictions would not help. */
static void memlock_shortage_empties_no_cache(void **state)
{
	struct pp_cache_stats s;
	uint64_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		allocate(i, GPU + i * 16 * MIB, 4 * MIB, i + 1);
		once(GPU + i * 16 * MIB, 4096);
	}
	for (i = 0; i < 2; i++) {
		mock_expect(PEERPIN_IOC_PIN, pin_all_but_a_little);
		mock_expect(PEERPIN_IOC_UNPIN, unpin_all);
		once(HOST, 10 * 4096);
	}
	mock_expect(PEERPIN_IOC_PIN, pin_over_limit);
	once(HOST, 12 * 4096);
	pp_cache_stats(pp_verbs_cache(verbs), &s);
	assert_int_equal(s.evictions, 0);
	assert_int_equal(mock_verbs.live, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_PINNED(host_memory_covers_whole_pages),
		TEST_PINNED(unmapped_memory_is_registered_again),
		TEST(unmap_during_registration_fails),
		TEST(unmapped_host_memory_is_refused),
		TEST_BARE(without_module_nothing_is_cached),
		TEST(unpinnable_memory_is_not_cached),
		TEST_PINNED(memlock_for_one_registration_suffices),
		TEST(memlock_limit_is_explained),
		TEST_PINNED(full_adapter_evicts_host_memory),
		cmocka_unit_test_setup_teardown(memlock_shortage_empties_no_cache, setup_limited, teardown_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
