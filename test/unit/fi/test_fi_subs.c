// SPDX-License-Identifier: MIT
/*
 * The subscriptions of libpeerpin-fi. The test is two caches of libfabric and the thread that notifies; the functions
 * pp_sys_*() below are a kernel with watches, each with a word of its own.
 */
#include <errno.h>
#include <peerpin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/fi/subs.h"
#include "lib/sys/sys.h"
#include "test/unit/mock/mock_cuda.h"
#include "test/unit/unit.h"

enum { WATCHES = 1 << 18, PAGE = 4096, FD = 1000 };

#define AT 0x7f0000000000ull
#define GPU 0x200000000ull

static _Atomic uint32_t words[PEERPIN_MAX_REGIONS + PEERPIN_MAX_WATCHES];
static uint64_t watched[WATCHES];	/* start of the range of each watch; 0: no watch */
static uint32_t ever, live, pins;
static int watch_error;
static struct pp_ctx *ctx;
static struct pp_subs subs;

/* ---- the kernel -------------------------------------------------------------------------- */

int pp_sys_open(const char *path)
{
	(void)path;
	return FD;
}

void pp_sys_close(int fd)
{
	assert_int_equal(fd, FD);
}

int pp_sys_map(int fd, size_t length, void **out)
{
	(void)fd;
	assert_true(length <= sizeof(words));
	*out = words;
	return 0;
}

int pp_sys_unmap(void *at, size_t length)
{
	(void)at;
	(void)length;
	return 0;
}

static int kernel_watch(struct peerpin_watch *arg)
{
	if (watch_error)
		return watch_error;
	arg->out_watch = ++ever;
	arg->out_slot = PEERPIN_MAX_REGIONS + ever;
	arg->out_epoch = words[arg->out_slot];
	watched[ever] = arg->addr;
	live++;
	return 0;
}

static int kernel_unwatch(const struct peerpin_unwatch *arg)
{
	if (arg->watch == PEERPIN_WATCH_ALL)
		return 0;
	assert_true(watched[arg->watch]);
	watched[arg->watch] = 0;
	words[PEERPIN_MAX_REGIONS + arg->watch]++;
	live--;
	return 0;
}

static int kernel_pin(struct peerpin_pin *arg)
{
	arg->out_region = ++pins;
	arg->out_slot = pins;
	arg->out_epoch = words[pins];
	arg->out_addr = arg->addr;
	arg->out_length = arg->length;
	arg->out_provider = PEERPIN_PROVIDER_NV;
	return 0;
}

int pp_sys_ioctl(int fd, unsigned long cmd, void *arg)
{
	assert_int_equal(fd, FD);
	switch (cmd) {
	case PEERPIN_IOC_WATCH:
		return kernel_watch(arg);
	case PEERPIN_IOC_UNWATCH:
		return kernel_unwatch(arg);
	case PEERPIN_IOC_PIN:
		return kernel_pin(arg);
	case PEERPIN_IOC_UNPIN:
		return 0;
	}
	return -ENOTTY;
}

/* munmap() of the range that starts at @addr */
static void unmap(uint64_t addr)
{
	uint32_t i;

	for (i = 1; i <= ever; i++)
		if (watched[i] == addr)
			words[PEERPIN_MAX_REGIONS + i]++;
}

/* ---- the caches ---------------------------------------------------------------------------- */

static void add(uint64_t addr)
{
	assert_int_equal(pp_subs_add(&subs, addr, PAGE), 0);
}

static bool valid(uint64_t addr)
{
	return pp_subs_valid(&subs, addr, PAGE);
}

/* Returns the number of ranges that the thread passed to notify(). */
static uint32_t notify(void)
{
	struct pp_range ranges[PP_SUBS_BATCH];
	uint32_t count = pp_subs_changed(&subs, ranges);

	pp_subs_told(&subs, ranges, count);
	return count;
}

static int setup(void **state)
{
	(void)state;
	memset(watched, 0, sizeof(watched));
	ever = live = pins = 0;
	watch_error = 0;
	mock_cuda_reset();
	return pp_open(&ctx) ?: pp_subs_init(&subs, ctx);
}

static int teardown(void **state)
{
	(void)state;
	pp_subs_clear(&subs);
	pp_subs_fini(&subs);
	assert_int_equal(live, 0);
	pp_close(ctx);
	return 0;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void unknown_range_is_not_valid(void **state)
{
	(void)state;
	assert_false(valid(AT));
	add(AT);
	assert_true(valid(AT));
	assert_false(pp_subs_valid(&subs, AT, 2 * PAGE));
	assert_false(valid(AT + PAGE));
}

static void unmapped_range_is_not_valid(void **state)
{
	(void)state;
	add(AT);
	unmap(AT);
	assert_false(valid(AT));
	/* the only cache has removed its entry, so nothing is left to be told */
	assert_int_equal(subs.count, 0);
	assert_int_equal(notify(), 0);
	add(AT);
	assert_true(valid(AT));
}

/* An entry that another cache made before the unmap stays invalid after this cache has registered the range again. */
static void other_cache_stays_invalid(void **state)
{
	(void)state;
	add(AT);	/* cache A */
	add(AT);	/* cache B */
	unmap(AT);
	assert_false(valid(AT));	/* A removes its entry, ... */
	add(AT);			/* and registers again */
	assert_false(valid(AT));	/* B's old entry */
	add(AT);
	assert_int_equal(subs.count, 1);
}

static void unnoticed_unmap_stays_invalid(void **state)
{
	(void)state;
	add(AT);	/* cache A */
	unmap(AT);
	add(AT);	/* cache B registers new memory at the address */
	assert_false(valid(AT));	/* A's old entry, or B's: the library cannot distinguish them */
}

/* The word of the second watch gets a value between the epochs of both watches. */
static void words_of_two_watches_differ(void **state)
{
	uint32_t first = PEERPIN_MAX_REGIONS + ever + 1;

	(void)state;
	words[first] = 11;
	words[first + 1] = 9;
	add(AT);
	unmap(AT);
	add(AT);	/* replaces the watch */
	unmap(AT);
	assert_int_equal(words[first + 1], 10);
	assert_false(valid(AT));
}

static void notification_makes_valid_again(void **state)
{
	(void)state;
	add(AT);
	add(AT);
	unmap(AT);
	add(AT);
	assert_int_equal(notify(), 1);
	assert_true(valid(AT));
	assert_int_equal(live, 1);
}

static void change_during_notification_counts(void **state)
{
	struct pp_range ranges[PP_SUBS_BATCH];

	(void)state;
	add(AT);
	add(AT);
	unmap(AT);
	assert_int_equal(pp_subs_changed(&subs, ranges), 1);
	add(AT);
	unmap(AT);
	pp_subs_told(&subs, ranges, 1);
	assert_false(valid(AT));
	assert_int_equal(notify(), 1);
}

/* Entries of two watches are made during one notification; the first watch changes. */
static void replaced_watch_is_told_again(void **state)
{
	struct pp_range ranges[PP_SUBS_BATCH];

	(void)state;
	add(AT);
	add(AT);
	unmap(AT);
	assert_int_equal(pp_subs_changed(&subs, ranges), 1);
	add(AT);	/* cache A, after notify() */
	unmap(AT);
	add(AT);	/* cache B */
	pp_subs_told(&subs, ranges, 1);
	assert_false(valid(AT));	/* A's entry */
	assert_int_equal(notify(), 1);
}

static void thread_finds_freed_memory(void **state)
{
	struct pp_range ranges[PP_SUBS_BATCH];

	(void)state;
	add(AT);
	add(AT + 8 * PAGE);
	assert_int_equal(notify(), 0);
	unmap(AT);
	assert_int_equal(pp_subs_changed(&subs, ranges), 1);
	assert_true(ranges[0].start == AT && ranges[0].end == AT + PAGE);
	pp_subs_told(&subs, ranges, 1);
	assert_int_equal(live, 1);
	assert_int_equal(subs.count, 1);
}

/* libfabric 2 unsubscribes each removed entry, also the entry for which valid() returned false. */
static void unsubscriptions_end_the_watch(void **state)
{
	(void)state;
	add(AT);
	add(AT);
	pp_subs_remove(&subs, AT, PAGE);
	assert_true(valid(AT));
	pp_subs_remove(&subs, AT, PAGE);
	assert_int_equal(live, 0);
	add(AT);
	add(AT);
	unmap(AT);
	assert_false(valid(AT));
	pp_subs_remove(&subs, AT, PAGE);
	assert_int_equal(subs.count, 1);
	assert_false(valid(AT));
	pp_subs_remove(&subs, AT, PAGE);
	assert_int_equal(subs.count, 0);
}

static void failed_watch_is_an_error(void **state)
{
	(void)state;
	watch_error = -ENOMEM;
	assert_int_equal(pp_subs_add(&subs, AT, PAGE), -ENOMEM);
	assert_false(valid(AT));
	watch_error = 0;
	add(AT);
	unmap(AT);
	watch_error = -EDQUOT;
	assert_int_equal(pp_subs_add(&subs, AT, PAGE), -EDQUOT);
	watch_error = 0;
	pp_subs_remove(&subs, AT, PAGE);	/* of the entry that was not watched */
	assert_false(valid(AT));
}

static void gpu_memory_is_pinned(void **state)
{
	(void)state;
	mock_cuda_loaded = true;
	mock_allocations[0] = (struct mock_allocation){ .base = GPU, .size = 1 << 21, .id = 1 };
	assert_int_equal(pp_subs_add(&subs, GPU, 65536), 0);
	assert_int_equal(pins, 1);
	assert_true(pp_subs_valid(&subs, GPU, 65536));
	words[1]++;	/* revoked */
	assert_false(pp_subs_valid(&subs, GPU, 65536));
}

static void table_is_bounded(void **state)
{
	uint64_t i, gone = 0;

	(void)state;
	for (i = 0; i < PP_SUBS_MAX; i++)
		add(AT + i * PAGE);
	for (i = 0; i < PP_SUBS_MAX; i++)
		if (!valid(AT + i * PAGE))
			fail_msg("subscription %llu is lost", (unsigned long long)i);
	assert_int_equal(pp_subs_add(&subs, AT + i * PAGE, PAGE), -ENOSPC);
	assert_int_equal(pp_subs_add(&subs, AT + i * PAGE, PAGE), -ENOSPC);
	assert_int_equal(notify(), PP_SUBS_BATCH);
	add(AT + i * PAGE);
	for (i = 0; i < PP_SUBS_MAX; i++)
		gone += !valid(AT + i * PAGE);
	assert_int_equal(gone, PP_SUBS_BATCH);
}

/* Libfabric 1.17 does not unsubscribe: entries that a full cache has evicted are registered again and again. */
static void places_are_reused(void **state)
{
	uint64_t i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		add(AT + i * PAGE);
		pp_subs_remove(&subs, AT + i * PAGE, PAGE);
	}
	assert_int_equal(subs.mask, 1023);
	assert_int_equal(live, 0);
}

static int is_refused_in_child(void)
{
	pp_subs_remove(&subs, AT, PAGE);
	pp_subs_clear(&subs);
	return !valid(AT) && pp_subs_add(&subs, AT, PAGE) == -EACCES;
}

/* fork() while the thread has the lock */
static void child_has_no_valid_range(void **state)
{
	int status = 1;
	pid_t child;

	(void)state;
	add(AT);
	pthread_mutex_lock(&subs.lock);
	child = fork();
	if (!child) {
		alarm(10);
		_exit(!is_refused_in_child());
	}
	pthread_mutex_unlock(&subs.lock);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(valid(AT));
}

static void bad_ranges_are_refused(void **state)
{
	(void)state;
	assert_int_equal(pp_subs_add(&subs, 0, PAGE), -EINVAL);
	assert_int_equal(pp_subs_add(&subs, 1, PAGE), -EINVAL);
	assert_int_equal(pp_subs_add(&subs, AT, 0), -EINVAL);
	assert_false(pp_subs_valid(&subs, 0, 0));
	assert_false(pp_subs_valid(&subs, 1, 0));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(unknown_range_is_not_valid),
		CASE(unmapped_range_is_not_valid),
		CASE(other_cache_stays_invalid),
		CASE(unnoticed_unmap_stays_invalid),
		CASE(words_of_two_watches_differ),
		CASE(notification_makes_valid_again),
		CASE(change_during_notification_counts),
		CASE(replaced_watch_is_told_again),
		CASE(thread_finds_freed_memory),
		CASE(unsubscriptions_end_the_watch),
		CASE(failed_watch_is_an_error),
		CASE(gpu_memory_is_pinned),
		CASE(table_is_bounded),
		CASE(places_are_reused),
		CASE(child_has_no_valid_range),
		CASE(bad_ranges_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
