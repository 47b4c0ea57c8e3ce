// SPDX-License-Identifier: MIT
/* Compares two results. */
#include "report.h"

static bool is_slower(const struct perf_point *now, const struct perf_point *before, double percent)
{
	double more = now->median - before->median;

	return more > now->noise + before->noise && more > before->median * percent / 100;
}

static bool is_faster(const struct perf_point *now, const struct perf_point *before, double percent)
{
	return is_slower(before, now, percent);
}

/** struct tally - counts of a comparison; @gone: rows that are no longer measured */
struct tally {
	size_t points;
	size_t slower;
	size_t faster;
	size_t gone;
};

/** struct worst - the slower points of a row: @count, their number; @now, @before: the point with the largest growth */
struct worst {
	size_t count;
	const struct perf_point *now, *before;
};

static double growth(const struct perf_point *now, const struct perf_point *before)
{
	return now->median / before->median - 1;
}

static void compare_point(const struct perf_point *now, const struct perf_point *before, double percent, struct tally *t,
			  struct worst *worst)
{
	t->points++;
	t->faster += is_faster(now, before, percent);
	if (!is_slower(now, before, percent))
		return;
	t->slower++;
	if (!worst->count++ || growth(now, before) > growth(worst->now, worst->before)) {
		worst->now = now;
		worst->before = before;
	}
}

static void print_slower(FILE *f, const struct perf_row *row, const struct worst *w)
{
	fprintf(f, "slower: %s: at %zu of %zu sizes, most at %s: %s, before %s (%+.0f %%, noise %.0f %%)\n", row->title,
		w->count, row->nr_points, perf_size_text(w->now->bytes).at, perf_time_text(w->now->median).at,
		perf_time_text(w->before->median).at, growth(w->now, w->before) * 100,
		(w->now->noise + w->before->noise) / w->before->median * 100);
}

static void compare_row(FILE *f, const struct perf_row *now, const struct perf_row *before, double percent,
			struct tally *t)
{
	const struct perf_point *point;
	struct worst worst = { 0 };
	size_t i;

	for (i = 0; i < now->nr_points; i++) {
		point = perf_find_point(before, now->points[i].bytes);
		if (point)
			compare_point(&now->points[i], point, percent, t, &worst);
	}
	if (worst.count)
		print_slower(f, now, &worst);
	if (now->nr_points || !before->nr_points)
		return;
	t->gone++;
	fprintf(f, "no longer measured: %s: %s\n", now->title, now->why);
}

size_t perf_compare(FILE *f, const struct perf_result *now, const struct perf_result *before, const char *name,
		    double percent)
{
	struct tally t = { 0 };
	size_t i;

	for (i = 0; i < now->nr_rows; i++) {
		const struct perf_row *was = perf_find_row(before, now->rows[i].name);

		if (was)
			compare_row(f, &now->rows[i], was, percent, &t);
	}
	fprintf(f, "against %s: of %zu times %zu are slower and %zu faster, by more than noise and %g %%\n", name, t.points,
		t.slower, t.faster, percent);
	if (!t.points)
		fprintf(f, "nothing could be compared: the runs have no size of a row in common\n");
	return t.slower + t.gone + !t.points;
}
