// SPDX-License-Identifier: MIT
/* Rates from two samples of peerpin top. A count may have restarted at zero. */
#include <string.h>
#include "tool/top/top.h"
#include "test/unit/unit.h"

#define SECOND 1000000000ull

static struct top_process process(pid_t pid, const char *command, uint64_t pins, uint64_t hits)
{
	struct top_process p = {
		.pid = pid, .publishes = true,
		.counted = { [TOP_PINS] = pins, [TOP_REVOKED] = pins / 2, [TOP_HITS] = hits, [TOP_MISSES] = hits / 4 },
	};

	strncpy(p.command, command, sizeof(p.command) - 1);
	return p;
}

static struct top_sample sample(uint64_t at_ns, struct top_process *processes, size_t n)
{
	return (struct top_sample){ .at_ns = at_ns, .processes = processes, .nr_processes = n };
}

static void assert_rate(double rate, double want)
{
	assert_true(rate > want - 1e-6 && rate < want + 1e-6);
}

static void assert_unknown(const struct top_process *p)
{
	int i;

	for (i = 0; i < TOP_COUNTS; i++)
		assert_true(p->rate[i] < 0);
}

static void rate_is_per_second(void **state)
{
	struct top_process was[] = { process(7, "a", 10, 100) }, is[] = { process(7, "a", 30, 500) };
	struct top_sample before = sample(SECOND, was, 1), now = sample(2 * SECOND, is, 1);

	(void)state;
	top_rates(&before, &now);
	assert_rate(is[0].rate[TOP_PINS], 20);
	assert_rate(is[0].rate[TOP_REVOKED], 10);
	assert_rate(is[0].rate[TOP_HITS], 400);
	assert_rate(is[0].rate[TOP_MISSES], 100);
	now.at_ns = 3 * SECOND;
	top_rates(&before, &now);
	assert_rate(is[0].rate[TOP_PINS], 10);
	assert_rate(is[0].rate[TOP_HITS], 200);
}

static void unchanged_counts_give_zero_rate(void **state)
{
	struct top_process was[] = { process(7, "a", 10, 100) }, is[] = { process(7, "a", 10, 100) };
	struct top_sample before = sample(SECOND, was, 1), now = sample(2 * SECOND, is, 1);

	(void)state;
	top_rates(&before, &now);
	assert_rate(is[0].rate[TOP_PINS], 0);
	assert_rate(is[0].rate[TOP_HITS], 0);
}

static void new_process_has_no_rate(void **state)
{
	struct top_process was[] = { process(3, "gone", 1, 1), process(7, "a", 10, 100), process(8, "gone", 1, 1) };
	struct top_process is[] = { process(2, "new", 99, 99), process(7, "a", 11, 101), process(9, "new", 99, 99) };
	struct top_sample before = sample(SECOND, was, 3), now = sample(2 * SECOND, is, 3);

	(void)state;
	top_rates(&before, &now);
	assert_unknown(&is[0]);
	assert_rate(is[1].rate[TOP_PINS], 1);
	assert_unknown(&is[2]);
}

static void falling_count_has_no_rate(void **state)
{
	struct top_process was[] = { process(7, "a", 10, 100) }, is[] = { process(7, "a", 9, 100000) };
	struct top_sample before = sample(SECOND, was, 1), now = sample(2 * SECOND, is, 1);

	(void)state;
	top_rates(&before, &now);
	assert_true(is[0].rate[TOP_PINS] < 0);
	assert_true(is[0].rate[TOP_REVOKED] < 0);
	assert_rate(is[0].rate[TOP_HITS], 99900);
}

static void reused_pid_has_no_rate(void **state)
{
	struct top_process was[] = { process(7, "a", 10, 100) }, is[] = { process(7, "b", 1000, 1000) };
	struct top_sample before = sample(SECOND, was, 1), now = sample(2 * SECOND, is, 1);

	(void)state;
	top_rates(&before, &now);
	assert_unknown(&is[0]);
}

static void hits_need_two_samples(void **state)
{
	struct top_process was[] = { process(7, "a", 10, 0) }, is[] = { process(7, "a", 10, 1000) };
	struct top_sample before = sample(SECOND, was, 1), now = sample(2 * SECOND, is, 1);

	(void)state;
	was[0].publishes = false;
	top_rates(&before, &now);
	assert_rate(is[0].rate[TOP_PINS], 0);
	assert_true(is[0].rate[TOP_HITS] < 0);
	assert_true(is[0].rate[TOP_MISSES] < 0);
}

static void zero_interval_has_no_rate(void **state)
{
	struct top_process was[] = { process(7, "a", 10, 100) }, is[] = { process(7, "a", 20, 200) };
	struct top_sample before = sample(SECOND, was, 1), now = sample(SECOND, is, 1);

	(void)state;
	top_rates(&before, &now);
	assert_unknown(&is[0]);
}

static void peers_have_rates_too(void **state)
{
	struct top_peer was[] = { { .name = "a", .counted = { 10, 4096 } }, { .name = "b", .counted = { 5, 5 } } };
	struct top_peer is[] = { { .name = "b", .counted = { 4, 4000 } }, { .name = "a", .counted = { 12, 12288 } },
				 { .name = "c", .counted = { 9, 9 } } };
	struct top_sample before = { .at_ns = SECOND, .peers = was, .nr_peers = 2 };
	struct top_sample now = { .at_ns = 3 * SECOND, .peers = is, .nr_peers = 3 };

	(void)state;
	top_rates(&before, &now);
	assert_true(is[0].rate[TOP_BYTES] < 0 && is[0].rate[TOP_TRANSFERS] < 0);
	assert_rate(is[1].rate[TOP_TRANSFERS], 1);
	assert_rate(is[1].rate[TOP_BYTES], 4096);
	assert_true(is[2].rate[TOP_BYTES] < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_is_per_second),
		cmocka_unit_test(unchanged_counts_give_zero_rate),
		cmocka_unit_test(new_process_has_no_rate),
		cmocka_unit_test(falling_count_has_no_rate),
		cmocka_unit_test(reused_pid_has_no_rate),
		cmocka_unit_test(hits_need_two_samples),
		cmocka_unit_test(zero_interval_has_no_rate),
		cmocka_unit_test(peers_have_rates_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
