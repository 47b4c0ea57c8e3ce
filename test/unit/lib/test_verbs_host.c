// SPDX-License-Identifier: MIT
/* Memory regions of host memory, with a mock adapter. */
#include "verbs_case.h"

static int teardown_watched(void **state)
{
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_ok);
	return teardown_host(state);
}

#define TEST_WATCHED(f) cmocka_unit_test_setup_teardown(f, setup, teardown_watched)

static void host_memory_covers_whole_pages(void **state)
{
	const struct pp_mr *mr;

	(void)state;
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	mr = once(HOST + 5000, 4000);
	assert_int_equal(mr->way, PP_MR_HOST);
	assert_int_equal(mr->addr, HOST + 4096);
	assert_int_equal(mr->length, 2 * 4096);
	assert_int_equal(watched.addr, HOST + 4096);
	assert_int_equal(watched.length, 2 * 4096);
	assert_int_equal(mock_verbs.last.fd, -1);
	assert_ptr_equal(once(HOST + 4096, 8192), mr);
	assert_int_equal(mock_verbs.calls, 1);
}

static void unmapped_memory_is_registered_again(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	once(HOST, 4096);
	mock_epochs[1]++;
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_ok);
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	once(HOST, 4096);
	assert_int_equal(mock_verbs.calls, 2);
	assert_int_equal(mock_verbs.live, 1);
}

static void unmap_first(void)
{
	mock_epochs[next_region]++;
}

/*
 * The memory is unmapped between the watch and the end of the registration. The adapter may then
 * have registered new memory at this address, which is not watched.
 */
static void unmap_during_registration_fails(void **state)
{
	(void)state;
	mock_verbs.on_reg = unmap_first;
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_ok);
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_ok);
	assert_int_equal(error_of(HOST, 4096), -ESTALE);
	assert_int_equal(mock_verbs.live, 0);
	explains(-ESTALE, "the memory was freed, or a huge page of it was split, while it was being pinned");
}

static void unmapped_host_memory_is_refused(void **state)
{
	(void)state;
	mock_verbs.pointer_error = EFAULT;
	mock_expect(PEERPIN_IOC_WATCH, watch_not_mapped);
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

static void unmap_once(void)
{
	mock_verbs.on_reg = NULL;
	unmap_first();
}

/* The registration replaces the zero page by a page that it can write to. */
static void replaced_zero_page_is_registered_again(void **state)
{
	(void)state;
	mock_verbs.on_reg = unmap_once;
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_ok);
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	once(HOST, 4096);
	assert_int_equal(mock_verbs.live, 1);
	assert_int_equal(mock_verbs.calls, 2);
}

static int watch_of_old_module(void *arg)
{
	(void)arg;
	return -ENOTTY;
}

static void unwatched_memory_is_not_cached(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_WATCH, watch_of_old_module);
	once(HOST, 4096);
	mock_expect(PEERPIN_IOC_WATCH, watch_of_old_module);
	once(HOST, 4096);
	assert_int_equal(mock_verbs.calls, 2);
}

static void limit_of_watches_leaves_registrations(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_WATCH, watch_over_limit);
	once(HOST, 4096);
	assert_int_equal(mock_verbs.live, 1);
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	once(HOST, 4096);
	assert_int_equal(mock_verbs.live, 1);
}

static void memlock_limit_is_explained(void **state)
{
	(void)state;
	mock_verbs.pointer_error = ENOMEM;
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_ok);
	assert_int_equal(error_of(HOST, 4096), -ENOMEM);
	explains(-ENOMEM, "host memory: ibv_reg_mr: Cannot allocate memory "
		 "(the limit of locked memory may be too low; see: ulimit -l)");
}

static void full_adapter_evicts_host_memory(void **state)
{
	(void)state;
	mock_verbs.room = 1;
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	once(HOST, 4096);
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_ok);	/* of the failed registration */
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_ok);	/* of the idle registration */
	mock_expect(PEERPIN_IOC_WATCH, watch_ok);
	once(HOST + MIB, 4096);
	assert_int_equal(mock_verbs.live, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WATCHED(host_memory_covers_whole_pages),
		TEST_WATCHED(unmapped_memory_is_registered_again),
		TEST_HOST(unmap_during_registration_fails),
		TEST_WATCHED(replaced_zero_page_is_registered_again),
		TEST_HOST(unmapped_host_memory_is_refused),
		TEST_BARE(without_module_nothing_is_cached),
		TEST_HOST(unwatched_memory_is_not_cached),
		TEST_WATCHED(limit_of_watches_leaves_registrations),
		TEST_HOST(memlock_limit_is_explained),
		TEST_WATCHED(full_adapter_evicts_host_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
