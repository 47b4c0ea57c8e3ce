// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "test/unit/unit.h"
#include "emu/judge/result/scenarios.h"

/* @texts: @count texts, numbered from 1 */
static void record(struct recording *recording, enum event_side side, const char *const *texts, unsigned int count)
{
	struct event event = { .side = side };
	unsigned int i;

	for (i = 0; i < count; i++) {
		event.number = i + 1;
		snprintf(event.text, sizeof(event.text), "%s", texts[i]);
		recording_add(recording, &event);
	}
}

static const char *const kernel_events[] = {
	"get_pages by direct", "dma_map_pages by direct", "get_pages_persistent by direct", "dma_map_pages by direct",
	"dma_unmap_pages by direct", "put_pages by direct",
};

static const char *const user_events[] = {
	"ioctl 0xc020dd01 on /dev/direct0 in 400 us", "mmap on /dev/direct0 in 900 us",
	"ioctl 0xc020dd02 on /dev/direct0 in 299 us", "ioctl 0xc020dd02 on /dev/direct0 in 4000 us",
	"ioctl 0xc020dd02 on /dev/direct0", "munmap on /dev/direct0 in 8 us",
	"close on /dev/direct0 in 5000 us", "close on /dev/direct0 in 80 us",
};

enum {
	NR_KERNEL = sizeof(kernel_events) / sizeof(kernel_events[0]),
	NR_USER = sizeof(user_events) / sizeof(user_events[0]),
};

static struct recording recording;
static struct scenarios list;

static int setup(void **state)
{
	(void)state;
	record(&recording, EVENT_KERNEL, kernel_events, NR_KERNEL);
	record(&recording, EVENT_USER, user_events, NR_USER);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	recording_free(&recording);
	scenarios_free(&list);
	return 0;
}

static const struct scenario *find(const char *id)
{
	size_t i;

	for (i = 0; i < list.count; i++)
		if (!strcmp(list.at[i].id, id))
			return &list.at[i];
	return NULL;
}

static void has(const char *id, const char *keys)
{
	const struct scenario *s = find(id);

	if (!s)
		fail_msg("%s is missing", id);
	assert_string_equal(s->keys, keys);
}

static void has_not(const char *id)
{
	if (find(id))
		fail_msg("%s is there", id);
}

static unsigned int count(const char *prefix)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < list.count; i++)
		n += !strncmp(list.at[i].id, prefix, strlen(prefix));
	return n;
}

static void first_scenarios_need_no_recording(void **state)
{
	(void)state;
	scenarios_before(&list);
	assert_string_equal(list.at[0].id, "plain");
	assert_string_equal(list.at[0].keys, "");
	has("plain/scatter-0", "scatter=0");
	has("plain/version-0x30000", "version=0x30000");
	has("plain/bar1-65536", "bar1=65536");
	has("plain/copies-2", "copies=2");
	assert_int_equal(count("plain/alloc-"), 0);
	assert_int_equal(count(""), count("plain"));
}

/* A run that has little time tries each kind, and revocations before the kinds that find less. */
static void each_kind_is_tried_first(void **state)
{
	static const char *const kinds[] = {
		"plain/revoke-at-kernel-", "plain/foreign-", "plain/during-", "plain/revoke-at-user-",
		"plain/kill-at-kernel-", "plain/kill-at-user-", "plain/late-close-", "plain/exit-", "plain/unbind-",
		"plain/inherit-", "plain/fork-", "plain/rmmod-", "plain/fail-get_pages-", "plain/fail-dma_map-",
		"plain/alloc-", "high-memory", "iommu", "iommu/revoke-at-kernel-", "iommu/during-", "iommu/revoke-at-user-",
	};
	size_t i, at = 0, k;

	(void)state;
	scenarios_before(&list);
	scenarios_after(&list, LEVEL_QUICK, &recording);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (k = at; strncmp(list.at[k].id, kinds[i], strlen(kinds[i])); k++)
			assert_true(list.at[k].first);
		assert_true(list.at[k].first);
		at = k;
	}
	assert_in_range(at, sizeof(kinds) / sizeof(kinds[0]), 45);
	assert_true(find("plain/during-4+2001us")->first);	/* the longest call that may transfer data */
	assert_true(find("plain/unbind-at-user-4")->first);
}

/* A report lists the kinds that were not tried. */
static void kinds_have_different_names(void **state)
{
	char a[ROW_KIND_MAX], b[ROW_KIND_MAX];
	unsigned int i, j;

	(void)state;
	for (i = 0; row_at(i); i++)
		for (j = 0; j < i; j++) {
			row_kind(row_at(i), a);
			row_kind(row_at(j), b);
			assert_string_not_equal(a, b);
		}
	row_kind(row_at(0), a);
	assert_string_equal(a, "no fault");
	row_kind(row_at(2), a);
	assert_string_equal(a, "version");
}

static void full_level_tries_every_event(void **state)
{
	char id[64];
	int i;

	(void)state;
	scenarios_after(&list, LEVEL_FULL, &recording);
	for (i = 1; i <= NR_KERNEL; i++) {
		snprintf(id, sizeof(id), "iommu-lazy/revoke-at-kernel-%d", i);
		assert_non_null(find(id));
	}
	assert_int_equal(count("plain/kill-at-kernel-"), NR_KERNEL);
	assert_int_equal(count("plain/revoke-at-user-"), NR_USER);
	assert_int_equal(count("plain/kill-at-user-"), NR_USER);
	assert_int_equal(count("plain/close-at-user-"), NR_USER);
	assert_int_equal(count("iommu/close-at-user-"), NR_USER);
	assert_int_equal(count("plain/dup-at-user-"), NR_USER);
	assert_int_equal(count("plain/during-"), 2 * 5);
	has("iommu", "");
	has("iommu-lazy", "");
	has("high-memory", "");
	has("no-sharing", "");
	has("iommu/during-4+1000us", "user-event=4:during:1000");
	has("plain/during-1+361us", "user-event=1:during:361");
	has("plain/revoke-at-kernel-2", "kernel-event=2:revoke");
	assert_in_range(list.count, 150, 211);
}

/* A slow adapter can only delay tests that use an adapter. */
static void registrations_need_an_adapter(void **state)
{
	struct event event = { .side = EVENT_USER, .number = NR_USER + 1, .text = "write of /dev/infiniband/uverbs0" };

	(void)state;
	scenarios_after(&list, LEVEL_FULL, &recording);
	assert_int_equal(count("plain/slow-adapter-"), 0);
	scenarios_free(&list);
	recording_add(&recording, &event);
	scenarios_after(&list, LEVEL_FULL, &recording);
	has("plain/slow-adapter-at-kernel-1", "kernel-event=1:revoke-later register=600");
	has("plain/slow-adapter-at-kernel-3", "kernel-event=3:revoke-later register=600");
	assert_int_equal(count("plain/slow-adapter-"), 2);
}

static void each_recorded_call_fails_once(void **state)
{
	(void)state;
	scenarios_after(&list, LEVEL_FULL, &recording);
	has("plain/fail-get_pages-2", "fail=get_pages:2");
	has_not("plain/fail-get_pages-3");
	has("plain/fail-dma_map-2", "fail=dma_map:2");
	has_not("plain/fail-dma_map-3");
}

static void ends_of_each_kind_are_tried(void **state)
{
	static const char *const ends[] = {
		"plain/fork-at-user-1", "plain/fork-at-user-2", "plain/fork-at-user-3", "plain/fork-at-user-5",
		"plain/fork-at-user-6", "plain/fork-at-user-7", "plain/fork-at-user-8",
	};
	size_t i;

	(void)state;
	scenarios_after(&list, LEVEL_FULL, &recording);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		assert_non_null(find(ends[i]));
	has_not("plain/fork-at-user-4");
	assert_int_equal(count("plain/late-close"), 1);
	has("plain/late-close-at-user-7", "user-event=7:late-close");
}

/* Record a thousand ioctls between a pin and a close. */
static void record_many(void)
{
	struct event event = { .side = EVENT_USER, .text = "ioctl 0xc020dd09 on /dev/direct0 in 700 us" };

	for (event.number = NR_USER + 1; event.number <= 1000; event.number++)
		recording_add(&recording, &event);
	event.side = EVENT_KERNEL;
	snprintf(event.text, sizeof(event.text), "put_pages by direct");
	for (event.number = NR_KERNEL + 1; event.number <= 1000; event.number++)
		recording_add(&recording, &event);
}

static void quick_level_stays_small(void **state)
{
	(void)state;
	record_many();
	scenarios_after(&list, LEVEL_QUICK, &recording);
	assert_in_range(list.count, 60, 142);
	assert_int_equal(count("plain/foreign-"), 6);
	assert_int_equal(count("plain/close-at-user-"), 4);
	assert_in_range(count("plain/revoke-at-kernel-"), 12, 24);
	has("plain/revoke-at-kernel-1", "kernel-event=1:revoke");
	has("plain/revoke-at-kernel-6", "kernel-event=6:revoke");
	has("plain/revoke-at-kernel-1000", "kernel-event=1000:revoke");
	assert_true(find("plain/revoke-at-kernel-4")->first);	/* the middle dma_map_pages */
	assert_true(find("plain/revoke-at-kernel-503")->first);	/* the middle put_pages */
	assert_int_equal(count("iommu-lazy"), 0);
	assert_int_equal(count("no-sharing"), 0);
	assert_in_range(count("iommu/during-"), 5 * 3, 6 * 3);
}

static void quick_scenarios_come_first(void **state)
{
	struct scenarios quick = { 0 };
	size_t i;

	(void)state;
	record_many();
	scenarios_after(&quick, LEVEL_QUICK, &recording);
	scenarios_after(&list, LEVEL_FULL, &recording);
	assert_true(list.count > quick.count);
	for (i = 0; i < quick.count; i++)
		assert_string_equal(list.at[i].id, quick.at[i].id);
	scenarios_free(&quick);
}

static void no_scenario_repeats(void **state)
{
	size_t i, j;

	(void)state;
	scenarios_after(&list, LEVEL_FULL, &recording);
	for (i = 0; i < list.count; i++)
		for (j = 0; j < i; j++)
			assert_string_not_equal(list.at[i].id, list.at[j].id);
}

/* The scenarios of a boot stand together, so the boot rarely changes from one scenario to the next. */
static void scenarios_are_grouped_by_boot(void **state)
{
	size_t i, changes = 0;

	(void)state;
	scenarios_after(&list, LEVEL_FULL, &recording);
	for (i = 1; i < list.count; i++)
		changes += list.at[i].boot != list.at[i - 1].boot;
	assert_in_range(changes, NR_BOOTS - 1, NR_BOOTS + 1);
}

/* A busy host makes any call long, once. */
static void transfers_are_the_most_calls(void **state)
{
	static const char *const calls[] = {
		"ioctl 0xc020dd01 on /dev/direct0 in 9000 us", "ioctl 0xc020dd02 on /dev/direct0 in 50 us",
		"ioctl 0xc020dd02 on /dev/direct0 in 700 us", "ioctl 0xc020dd02 on /dev/direct0 in 400 us",
		"ioctl 0xc020dd03 on /dev/direct0 in 400 us", "close on /dev/direct0 in 4 us",
	};
	struct recording busy = { 0 };

	(void)state;
	record(&busy, EVENT_USER, calls, 6);
	scenarios_after(&list, LEVEL_QUICK, &busy);
	assert_true(find("plain/during-3+351us")->first);
	assert_true(find("plain/unbind-at-user-4")->first);	/* the middle one of the long calls */
	assert_true(find("plain/unbind-at-user-1")->first);
	assert_false(find("plain/unbind-at-user-5")->first);
	recording_free(&busy);
}

static void first_pass_of(const char *const *calls, size_t count)
{
	recording_free(&recording);
	scenarios_free(&list);
	record(&recording, EVENT_USER, calls, count);
	scenarios_after(&list, LEVEL_QUICK, &recording);
}

/* A test maps only around each copy. The spread events would all be between two mappings. */
static void first_pass_revokes_mapped_memory(void **state)
{
	static const char *const calls[] = {
		"ioctl 0xc020dd01 on /dev/direct0 in 50 us", "mmap of /dev/direct0 in 50 us",
		"ioctl 0xc020dd02 on /dev/direct0 in 50 us", "munmap of a mapping in 50 us",
		"ioctl 0xc020dd03 on /dev/direct0 in 50 us", "ioctl 0xc020dd03 on /dev/direct0 in 50 us",
		"close of /dev/direct0 in 50 us",
	};
	static const char *const kept[] = {
		"ioctl 0xc020dd01 on /dev/direct0 in 50 us", "mmap of /dev/direct0 in 50 us",
		"ioctl 0xc020dd02 on /dev/direct0 in 50 us", "close of /dev/direct0 in 50 us",
	};
	static const char *const queues[] = { "mmap of /dev/infiniband/uverbs0 in 50 us", "munmap of a mapping in 50 us" };

	(void)state;
	first_pass_of(calls, 7);
	assert_true(find("plain/revoke-at-user-4")->first);
	first_pass_of(kept, 4);
	assert_true(find("plain/revoke-at-user-4")->first);
	first_pass_of(queues, 2);
	assert_true(!find("plain/revoke-at-user-1")->first || !find("plain/revoke-at-user-2")->first);
}

/* Of two kinds with as many calls, the kind that comes first is tried first. */
static void equal_kinds_are_both_unbound(void **state)
{
	static const char *const calls[] = {
		"ioctl 0xc020dd01 on /dev/direct0 in 900 us", "ioctl 0xc020dd02 on /dev/direct0 in 900 us",
		"ioctl 0xc020dd03 on /dev/direct0 in 900 us", "ioctl 0xc020dd01 on /dev/direct0 in 900 us",
		"ioctl 0xc020dd02 on /dev/direct0 in 900 us", "ioctl 0xc020dd03 on /dev/direct0 in 900 us",
	};

	(void)state;
	recording_free(&recording);
	record(&recording, EVENT_USER, calls, sizeof(calls) / sizeof(calls[0]));
	scenarios_after(&list, LEVEL_QUICK, &recording);
	assert_true(find("plain/unbind-at-user-4")->first);
	assert_true(find("plain/unbind-at-user-5")->first);
	assert_false(find("plain/unbind-at-user-6")->first);
}

/* The largest recording of a test. With time in proportion to the cube of its calls this took many seconds. */
static void many_calls_take_no_time(void **state)
{
	struct event event = { .side = EVENT_USER };
	clock_t start;

	(void)state;
	recording_free(&recording);
	for (event.number = 1; event.number <= 1024; event.number++) {
		snprintf(event.text, sizeof(event.text), "ioctl %#x on /dev/direct0 in 900 us", event.number % 32);
		recording_add(&recording, &event);
	}
	start = clock();
	scenarios_after(&list, LEVEL_QUICK, &recording);
	assert_true(clock() - start < CLOCKS_PER_SEC / 2);
}

static void empty_recording_gives_no_event_scenarios(void **state)
{
	struct recording none = { 0 };

	(void)state;
	scenarios_after(&list, LEVEL_FULL, &none);
	assert_non_null(find("iommu"));
	assert_int_equal(count("plain/revoke"), 0);
	assert_int_equal(count("plain/kill"), 0);
	assert_int_equal(count("plain/fail"), 0);
}

static void allocations_grow_to_the_limit(void **state)
{
	(void)state;
	scenarios_alloc(&list, LEVEL_FULL, 8);
	assert_int_equal(list.count, 16);
	has("plain/alloc-9", "alloc=9");
	has("plain/alloc-24", "alloc=24");
	scenarios_free(&list);
	scenarios_alloc(&list, LEVEL_FULL, 24);
	has("plain/alloc-64", "alloc=64");
	has_not("plain/alloc-65");
	scenarios_free(&list);
	scenarios_alloc(&list, LEVEL_FULL, 64);
	assert_int_equal(list.count, 0);
	scenarios_alloc(&list, LEVEL_QUICK, 24);
	assert_int_equal(list.count, 0);
}

/* --only accepts every ID of a report and runs the same scenario. */
static void every_id_is_parsed(void **state)
{
	struct scenario s;
	size_t i, k;

	(void)state;
	scenarios_before(&list);
	scenarios_after(&list, LEVEL_FULL, &recording);
	for (i = 0; i < list.count; i++) {
		assert_int_equal(scenario_parse(list.at[i].id, &s), 0);
		assert_string_equal(s.keys, list.at[i].keys);
		assert_int_equal(s.boot, list.at[i].boot);
		assert_int_equal(s.tries, list.at[i].tries);
		for (k = 0; k < i; k++)
			assert_string_not_equal(list.at[k].id, list.at[i].id);
	}
}

static void bad_ids_are_refused(void **state)
{
	static const char *const bad[] = {
		"", "plain/", "/", "Plain", "plain/alloc", "plain/alloc-", "plain/alloc-x", "plain/alloc-1x",
		"plain/alloc-01", "plain/alloc--1", "moon/alloc-1", "plain/during-1+", "plain/during-1+300",
		"plain/version-65537", "plain/alloc-1 record=1", "plain/revoke-at-kernel-99999999999",
	};
	struct scenario s;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (scenario_parse(bad[i], &s) != -EINVAL)
			fail_msg("'%s' is taken for %s", bad[i], s.keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(first_scenarios_need_no_recording, setup, teardown),
		cmocka_unit_test_setup_teardown(each_kind_is_tried_first, setup, teardown),
		cmocka_unit_test_setup_teardown(kinds_have_different_names, setup, teardown),
		cmocka_unit_test_setup_teardown(full_level_tries_every_event, setup, teardown),
		cmocka_unit_test_setup_teardown(registrations_need_an_adapter, setup, teardown),
		cmocka_unit_test_setup_teardown(each_recorded_call_fails_once, setup, teardown),
		cmocka_unit_test_setup_teardown(ends_of_each_kind_are_tried, setup, teardown),
		cmocka_unit_test_setup_teardown(quick_level_stays_small, setup, teardown),
		cmocka_unit_test_setup_teardown(quick_scenarios_come_first, setup, teardown),
		cmocka_unit_test_setup_teardown(no_scenario_repeats, setup, teardown),
		cmocka_unit_test_setup_teardown(scenarios_are_grouped_by_boot, setup, teardown),
		cmocka_unit_test_setup_teardown(transfers_are_the_most_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(equal_kinds_are_both_unbound, setup, teardown),
		cmocka_unit_test_setup_teardown(first_pass_revokes_mapped_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(many_calls_take_no_time, setup, teardown),
		cmocka_unit_test_setup_teardown(empty_recording_gives_no_event_scenarios, setup, teardown),
		cmocka_unit_test_setup_teardown(allocations_grow_to_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(every_id_is_parsed, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_ids_are_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
