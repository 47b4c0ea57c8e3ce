// SPDX-License-Identifier: MIT
/* The figures of `bench/run --plot`: scales and labels. Every mark must lie inside the picture. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/plot/draw.h"
#include "bench/plot/label.h"
#include "bench/plot/results.h"
#include "bench/plot/scale.h"
#include "test/unit/unit.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b));
}

static void assert_ticks(const struct scale *s, const double *want, unsigned int count)
{
	assert_int_equal(s->ticks, count);
	for (unsigned int i = 0; i < count; i++)
		if (!is_near(s->tick[i], want[i]))
			fail_msg("tick %u is %g, not %g", i, s->tick[i], want[i]);
}

/* ---- scales --------------------------------------------------------------------- */

static void power_scale_spans_its_axis(void **state)
{
	static const double counts[] = { 1, 10, 100, 1000 };
	struct scale s = scale_powers(1, 1000, 10);

	(void)state;
	assert_ticks(&s, counts, N(counts));
	s.from = 100;
	s.to = 400;
	assert_true(is_near(scale_place(&s, 1), 100));
	assert_true(is_near(scale_place(&s, 10), 200));
	assert_true(is_near(scale_place(&s, 1000), 400));
}

static void many_powers_are_thinned(void **state)
{
	static const double sizes[] = { 1, 16, 256, 4096, 65536, 1 << 20 };
	struct scale s = scale_powers(1, 4 << 20, 4);

	(void)state;
	assert_ticks(&s, sizes, N(sizes));
}

static void one_power_is_a_scale(void **state)
{
	struct scale s = scale_powers(64, 64, 10);

	(void)state;
	s.to = 1;
	assert_true(is_near(scale_place(&s, 640), 1));
}

static void close_values_are_linear_from_zero(void **state)
{
	static const double wanted[] = { 0, 200, 400, 600, 800, 1000 };
	struct scale s = scale_round(110, 907);

	(void)state;
	assert_false(s.is_log);
	assert_ticks(&s, wanted, N(wanted));
	s.from = 300;
	s.to = 50;
	assert_true(is_near(scale_place(&s, 500), 175));
}

static void distant_values_use_powers_of_ten(void **state)
{
	static const double wanted[] = { 10, 100, 1000, 10000 };
	struct scale s = scale_round(9.7, 10300);

	(void)state;
	assert_true(s.is_log);
	assert_true(is_near(s.low, 5) && is_near(s.high, 20000));
	assert_ticks(&s, wanted, N(wanted));
}

static void single_decade_has_extra_ticks(void **state)
{
	static const double wanted[] = { 2, 5, 10, 20, 50 };
	struct scale s = scale_round(3.1, 45);

	(void)state;
	assert_ticks(&s, wanted, N(wanted));
}

static void scales_cover_their_values(void **state)
{
	double low, high;
	struct scale s;

	(void)state;
	for (low = 0.013; low < 1e9; low *= 1.7)
		for (high = low; high < 1e6 * low; high *= 1.3) {
			s = scale_round(low, high);
			if (s.low > low * 1.001 || s.high < high * 0.999 || s.ticks < 2 || s.high > 10 * high)
				fail_msg("%g to %g: from %g to %g, %u ticks", low, high, s.low, s.high, s.ticks);
		}
}

/* ---- labels --------------------------------------------------------------------- */

static void assert_label(void (*label)(char *, double), double figure, const char *want)
{
	char text[LABEL_MAX];

	label(text, figure);
	assert_string_equal(text, want);
}

static void labels_have_units(void **state)
{
	(void)state;
	assert_label(label_ns, 0, "0");
	assert_label(label_ns, 0.5, "0.5 ns");
	assert_label(label_ns, 999, "999 ns");
	assert_label(label_ns, pow(10, 3) * 0.99999999, "1 us");
	assert_label(label_ns, 2e7, "20 ms");
	assert_label(label_ns, 3e12, "3e+03 s");
	assert_label(label_bytes, 8, "8 B");
	assert_label(label_bytes, 4096, "4 KiB");
	assert_label(label_bytes, 64 << 20, "64 MiB");
	assert_label(label_count, 1, "1");
	assert_label(label_count, 100000, "100,000");
	assert_label(label_count, 12034567, "12,034,567");
}

/* ---- results -------------------------------------------------------------------- */

static struct results results;

static unsigned int read_text(const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	unsigned int line;

	assert_non_null(f);
	line = results_read(&results, f);
	fclose(f);
	return line;
}

#define FIGURE "place\ta machine & <its> kernel\nfigure\tf\tTitle\tsize\tbytes\n"

static void results_are_read(void **state)
{
	const struct plot *p = results.plots;

	(void)state;
	assert_int_equal(read_text(FIGURE "claim\tsomething else\npoint\tf\tours\t4096\t10.5\n"
				   "point\tf\ttheirs\t4096\t20\npoint\tf\tours\t8192\t11\n"), 0);
	assert_int_equal(results.count, 1);
	assert_string_equal(p->place, "a machine & <its> kernel");
	assert_int_equal(p->count, 2);
	assert_string_equal(p->series[0].name, "ours");
	assert_int_equal(p->series[0].count, 2);
	assert_true(is_near(p->series[0].x[1], 8192) && is_near(p->series[0].y[0], 10.5));
}

static void bad_lines_are_reported(void **state)
{
	static const char *const wrong[] = {
		FIGURE "point\tg\tours\t1\t2\n",
		FIGURE "point\tf\tours\t0\t2\n",
		FIGURE "point\tf\tours\t1\t-2\n",
		FIGURE "point\tf\tours\t1\tnan\n",
		FIGURE "point\tf\tours\t1\n",
		FIGURE "point\tf\tours\t1\t2\t3\n",
		FIGURE "figure\tf\tTwice\tsize\tbytes\n",
	};

	(void)state;
	for (unsigned int i = 0; i < N(wrong); i++)
		if (read_text(wrong[i]) != 3)
			fail_msg("the third line is not reported: %s", wrong[i]);
}

static void too_many_series_are_refused(void **state)
{
	char text[2048] = FIGURE;

	(void)state;
	for (unsigned int i = 0; i < SERIES_MAX + 1; i++)
		sprintf(text + strlen(text), "point\tf\ts%u\t1\t2\n", i);
	assert_int_equal(read_text(text), 3 + SERIES_MAX);
}

/* ---- pictures ------------------------------------------------------------------- */

static char *drawn(const char *text)
{
	size_t size;
	char *svg;
	FILE *f = open_memstream(&svg, &size);

	assert_int_equal(read_text(text), 0);
	draw(results.plots, f);
	fclose(f);
	return svg;
}

static void assert_has(const char *svg, const char *text)
{
	if (!strstr(svg, text))
		fail_msg("no '%s' in %s", text, svg);
}

static void picture_has_schemes_and_escapes_text(void **state)
{
	char *svg = drawn(FIGURE "point\tf\tours\t4096\t10\npoint\tf\ta < b\t4096\t20\n");

	(void)state;
	assert_has(svg, "prefers-color-scheme: dark");
	assert_has(svg, "a machine &amp; &lt;its&gt; kernel");
	assert_has(svg, ">a &lt; b</text>");
	assert_has(svg, ">4 KiB</text>");
	assert_has(svg, ">20 ns</text>");
	assert_string_equal(svg + strlen(svg) - strlen("</svg>\n"), "</svg>\n");
	free(svg);
}

/* Store in @out the number after @what. Returns the text after the number; NULL if @what is missing. */
static const char *next_number(const char *svg, const char *what, double *out)
{
	const char *at = strstr(svg, what);
	char *end;

	if (!at)
		return NULL;
	*out = strtod(at + strlen(what), &end);
	return end;
}

static void all_marks_are_within_the_axes(void **state)
{
	char *svg = drawn(FIGURE "point\tf\tours\t4096\t0.4\npoint\tf\tours\t67108864\t123456789\n");
	const char *at = svg;
	unsigned int found = 0;
	double x, y;

	(void)state;
	while ((at = next_number(at, "cx=\"", &x)) && (at = next_number(at, "cy=\"", &y))) {
		found++;
		if (x < 76 || x > 540 || y < 56 || y > 316)
			fail_msg("a mark outside the axes, at %g, %g", x, y);
	}
	assert_int_equal(found, 2);
	free(svg);
}

static int higher(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* @first_and_last: values of six series that end at the same point, at the top or at the bottom */
static void assert_names_are_apart(const char *first_and_last)
{
	char text[2048] = FIGURE, *svg;
	double y[SERIES_MAX];
	unsigned int i;
	const char *at;

	for (i = 0; i < SERIES_MAX; i++)
		sprintf(text + strlen(text), first_and_last, i, i);
	at = svg = drawn(text);
	for (i = 0; i < SERIES_MAX; i++) {
		at = strstr(at, "class=\"name\"");
		assert_non_null(at);
		at = next_number(at, "y=\"", &y[i]);
	}
	qsort(y, SERIES_MAX, sizeof(*y), higher);
	for (i = 1; i < SERIES_MAX; i++)
		if (y[i] < y[i - 1] + 16 || y[i - 1] < 50 || y[i] > 330)
			fail_msg("names overlap or lie outside, at %g and %g", y[i - 1], y[i]);
	free(svg);
}

static void series_names_do_not_overlap(void **state)
{
	(void)state;
	assert_names_are_apart("point\tf\ts%u\t4096\t10\npoint\tf\ts%u\t8192\t1000\n");
	assert_names_are_apart("point\tf\ts%u\t4096\t1000\npoint\tf\ts%u\t8192\t10\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(power_scale_spans_its_axis),
		cmocka_unit_test(many_powers_are_thinned),
		cmocka_unit_test(one_power_is_a_scale),
		cmocka_unit_test(close_values_are_linear_from_zero),
		cmocka_unit_test(distant_values_use_powers_of_ten),
		cmocka_unit_test(single_decade_has_extra_ticks),
		cmocka_unit_test(scales_cover_their_values),
		cmocka_unit_test(labels_have_units),
		cmocka_unit_test(results_are_read),
		cmocka_unit_test(bad_lines_are_reported),
		cmocka_unit_test(too_many_series_are_refused),
		cmocka_unit_test(picture_has_schemes_and_escapes_text),
		cmocka_unit_test(all_marks_are_within_the_axes),
		cmocka_unit_test(series_names_do_not_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
