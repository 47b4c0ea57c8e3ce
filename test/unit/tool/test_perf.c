// SPDX-License-Identifier: MIT
/* peerpin perf: sizes, statistics, the JSON of an earlier run, and the comparison with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test/unit/unit.h"
#include "tool/perf/args.h"
#include "tool/perf/report.h"
#include "tool/perf/stats.h"

/* ---- the command line -------------------------------------------------------------- */

static void assert_sizes(const char *text, const uint64_t *sizes, size_t count)
{
	struct perf_args a;

	assert_true(parse_sizes(text, &a));
	assert_int_equal(a.nr_sizes, count);
	assert_memory_equal(a.sizes, sizes, count * sizeof(*sizes));
}

static void sizes_are_lists_and_ranges(void **state)
{
	static const char *const bad[] = { "", "0", "64,", ",64", "64-", "-64", "a", "1-2-3", "0-64", "64K-1X" };
	struct perf_args a;
	size_t i;

	(void)state;
	assert_sizes("64", (uint64_t[]){ 64 }, 1);
	assert_sizes("1M,64,4K,64", (uint64_t[]){ 64, 4096, 1 << 20 }, 3);
	assert_sizes("64-1K", (uint64_t[]){ 64, 256, 1024 }, 3);
	assert_sizes("64-1000", (uint64_t[]){ 64, 256, 1000 }, 3);
	assert_sizes("1K-64", (uint64_t[]){ 64 }, 1);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parse_sizes(bad[i], &a))
			fail_msg("%s is taken", bad[i]);
}

static void only_names_whole_groups(void **state)
{
	struct perf_args all = { 0 }, some = { .only = "cpu,file" };

	(void)state;
	assert_true(perf_wants(&all, "copy"));
	assert_true(perf_wants(&some, "cpu") && perf_wants(&some, "file"));
	assert_false(perf_wants(&some, "copy") || perf_wants(&some, "fil") || perf_wants(&some, "pu"));
}

/* ---- statistics ----------------------------------------------------------------------- */

static struct perf_point sum_up(const double *samples, size_t count)
{
	struct perf_point p = { 0 };

	perf_sum_up(samples, count, &p);
	return p;
}

static void percentiles_of_many_samples(void **state)
{
	double samples[1000];
	struct perf_point p;
	int i;

	(void)state;
	for (i = 0; i < 1000; i++)
		samples[i] = 1 + (i * 389) % 1000;	/* 1 to 1000, mixed */
	p = sum_up(samples, 1000);
	assert_true(p.p1 == 10 && p.median == 500.5 && p.p99 == 990);
	assert_int_equal(p.count, 1000);
	assert_true(p.noise < 60);
}

static void few_samples_show_their_range(void **state)
{
	double one[] = { 5 }, three[] = { 9, 1, 4 };
	struct perf_point p = sum_up(one, 1);

	(void)state;
	assert_true(p.p1 == 5 && p.median == 5 && p.p99 == 5 && p.noise == 0);
	p = sum_up(three, 3);
	assert_true(p.p1 == 1 && p.median == 4 && p.p99 == 9 && p.noise == 8);
}

/* Single large samples are no noise; a median that moves during the run is. */
static void noise_is_a_moving_median(void **state)
{
	double peaks[100], moves[100];
	int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		peaks[i] = i % 10 ? 100 : 5000;
		moves[i] = i < 50 ? 100 : 150;
	}
	assert_true(sum_up(peaks, 100).noise == 0);
	assert_true(sum_up(moves, 100).noise == 50);
}

/* ---- results ---------------------------------------------------------------------------- */

static struct perf_result result_of(double median, double noise, const char *why)
{
	struct perf_result r = { 0 };
	struct perf_row *row = perf_add_row(&r, "copy");

	strcpy(row->title, "a copy");
	strcpy(row->why, why);
	row->rate = true;
	if (!*why)
		perf_add_point(row, &(struct perf_point){ .bytes = 4096, .count = 10, .p1 = median, .median = median,
							  .p99 = median, .noise = noise });
	return r;
}

/* Compares with a median of 100 and a noise of 5. @text gets what is printed. */
static size_t compare(double median, double noise, const char *why, char *text, size_t room)
{
	struct perf_result now = result_of(median, noise, why), before = result_of(100, 5, "");
	FILE *f = fmemopen(text, room, "w");
	size_t worse;

	assert_non_null(f);
	worse = perf_compare(f, &now, &before, "before.json", 10);
	fclose(f);
	perf_free(&now);
	perf_free(&before);
	return worse;
}

static void slower_means_more_than_noise(void **state)
{
	char text[1024];

	(void)state;
	assert_int_equal(compare(100, 0, "", text, sizeof(text)), 0);
	assert_int_equal(compare(109, 0, "", text, sizeof(text)), 0);		/* below 10 % */
	assert_int_equal(compare(120, 0, "", text, sizeof(text)), 1);
	assert_non_null(strstr(text, "slower: a copy: at 1 of 1 sizes, most at 4K: 120ns, before 100ns (+20 %, noise 5 %)"));
	assert_int_equal(compare(120, 16, "", text, sizeof(text)), 0);		/* noise 16 + 5 */
	assert_int_equal(compare(50, 0, "", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "of 1 times 0 are slower and 1 faster"));
}

static void lost_rows_count_as_worse(void **state)
{
	char text[1024];

	(void)state;
	assert_true(compare(0, 0, "no GPU", text, sizeof(text)) > 0);
	assert_non_null(strstr(text, "no longer measured: a copy: no GPU\n"));
	assert_non_null(strstr(text, "nothing could be compared"));
}

static const char *parse(const char *text, struct perf_result *out)
{
	struct json_object *o = json_tokener_parse(text);
	const char *wrong = perf_parse(o, out);

	json_object_put(o);
	return wrong;
}

#define POINT "{\"bytes\":64,\"samples\":3,\"p1_ns\":1.5,\"median_ns\":2,\"p99_ns\":3,\"noise_ns\":0}"

static void earlier_runs_are_read(void **state)
{
	struct perf_result r;

	(void)state;
	assert_null(parse("{\"schema\":\"peerpin-perf-1\",\"machine\":{\"GPU\":\"a\\u001b[1m\"},\"newer\":1,\"rows\":[{\"name\":\"x\","
			  "\"title\":\"t\",\"rate\":true,\"why\":null,\"points\":[" POINT "]}]}", &r));
	assert_string_equal(r.facts[0].value, "a?[1m");
	assert_int_equal(r.nr_rows, 1);
	assert_true(r.rows[0].rate && r.rows[0].points[0].p1 == 1.5 && r.rows[0].points[0].bytes == 64);
	assert_true(perf_rate(&r.rows[0].points[0]) == 32);
	perf_free(&r);
}

static void broken_runs_are_refused(void **state)
{
	static const char *const broken[] = {
		"[]", "{}", "{\"schema\":\"peerpin-perf-2\",\"rows\":[]}", "{\"schema\":\"peerpin-perf-1\"}",
		"{\"schema\":\"peerpin-perf-1\",\"rows\":{}}", "{\"schema\":\"peerpin-perf-1\",\"rows\":[1]}",
		"{\"schema\":\"peerpin-perf-1\",\"rows\":[{\"name\":\"x\"}]}",
		"{\"schema\":\"peerpin-perf-1\",\"rows\":[{\"name\":\"x\",\"points\":[{\"bytes\":64}]}]}",
		"{\"schema\":\"peerpin-perf-1\",\"rows\":[{\"name\":\"x\",\"points\":[1]}]}",
		"{\"schema\":\"peerpin-perf-1\",\"rows\":[{\"name\":\"x\",\"points\":[]},{\"name\":\"x\",\"points\":[]}]}",
		"{\"schema\":\"peerpin-perf-1\",\"rows\":[{\"name\":\"x\",\"points\":[{\"bytes\":64,\"samples\":3,\"p1_ns\":-1,"
		"\"median_ns\":2,\"p99_ns\":3,\"noise_ns\":0}]}]}",
	};
	struct perf_result r;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		if (!parse(broken[i], &r))
			fail_msg("%s is taken", broken[i]);
		perf_free(&r);
	}
}

static void numbers_have_three_digits(void **state)
{
	(void)state;
	assert_string_equal(perf_time_text(0.4).at, "0.40ns");
	assert_string_equal(perf_time_text(999.4).at, "999ns");
	assert_string_equal(perf_time_text(999.6).at, "1.00us");
	assert_string_equal(perf_time_text(99960).at, "100us");
	assert_string_equal(perf_time_text(12.34e9).at, "12.3s");
	assert_string_equal(perf_size_text(64).at, "64");
	assert_string_equal(perf_size_text(1536).at, "1.5K");
	assert_string_equal(perf_size_text(1 << 30).at, "1G");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_lists_and_ranges),
		cmocka_unit_test(only_names_whole_groups),
		cmocka_unit_test(percentiles_of_many_samples),
		cmocka_unit_test(few_samples_show_their_range),
		cmocka_unit_test(noise_is_a_moving_median),
		cmocka_unit_test(slower_means_more_than_noise),
		cmocka_unit_test(lost_rows_count_as_worse),
		cmocka_unit_test(earlier_runs_are_read),
		cmocka_unit_test(broken_runs_are_refused),
		cmocka_unit_test(numbers_have_three_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
