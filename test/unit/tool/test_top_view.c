// SPDX-License-Identifier: MIT
/* Rows of peerpin top: selection, order, text, and layout for each screen size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tool/machine/bar1.h"
#include "tool/top/layout.h"
#include "tool/top/view.h"
#include "test/unit/unit.h"

static struct top_process processes[] = {
	{ .pid = 12, .command = "zebra", .bytes = 4096, .regions = 9, .rate = { 5, 0, -1, -1 } },
	{ .pid = 23, .command = "Trainer", .bytes = 8192, .regions = 1, .rate = { -1, -1, -1, -1 } },
	{ .pid = 123, .command = "trainer2", .bytes = 4096, .regions = 9, .rate = { 7, 1, 123456, 2.5e7 } },
};

static const struct top_sample sample = { .processes = processes, .nr_processes = 3 };

/* The pids that top shows, as text. */
static const char *shown(enum top_sort sort, const char *filter)
{
	struct top_view view = { .sort = sort };
	const struct top_process **rows;
	static char text[64];
	size_t count, i;

	strcpy(view.filter, filter);
	rows = top_rows(&sample, &view, &count);
	for (text[0] = '\0', i = 0; i < count; i++)
		sprintf(text + strlen(text), "%d ", rows[i]->pid);
	free(rows);
	return text;
}

static void rows_are_sorted(void **state)
{
	(void)state;
	assert_string_equal(shown(TOP_BY_BYTES, ""), "23 12 123 ");
	assert_string_equal(shown(TOP_BY_REGIONS, ""), "12 123 23 ");
	assert_string_equal(shown(TOP_BY_PINS, ""), "123 12 23 ");
	assert_string_equal(shown(TOP_BY_NAME, ""), "23 123 12 ");
}

static void rows_are_filtered(void **state)
{
	(void)state;
	assert_string_equal(shown(TOP_BY_BYTES, "TRAIN"), "23 123 ");
	assert_string_equal(shown(TOP_BY_BYTES, "12"), "12 123 ");
	assert_string_equal(shown(TOP_BY_BYTES, "2"), "23 123 ");
	assert_string_equal(shown(TOP_BY_BYTES, "nobody"), "");
}

static void empty_sample_has_no_rows(void **state)
{
	const struct top_sample none = { 0 };
	struct top_view view = { 0 };
	size_t count = 1;

	(void)state;
	free(top_rows(&none, &view, &count));
	assert_int_equal(count, 0);
	assert_string_equal(top_row_title(&none).at, "peerpin top  0 bytes in 0 regions of 0 processes");
}

static void rows_have_columns(void **state)
{
	(void)state;
	assert_string_equal(top_row_process_names().at,
			    "    PID COMMAND             PINNED  REGIONS  PINS/S REVOKED/S  HITS/S MISSES/S");
	assert_string_equal(top_row_process(&processes[1]).at,
			    "     23 Trainer            8.0 KiB        1       -         -       -        -");
	assert_string_equal(top_row_process(&processes[2]).at,
			    "    123 trainer2           4.0 KiB        9       7         1    123k      25M");
	assert_string_equal(top_row_title(&sample).at, "peerpin top  16.0 KiB in 19 regions of 3 processes");
}

static void layout_fits_every_screen(void **state)
{
	struct top_sample s = { .nr_gpus = 64, .nr_peers = 40, .nr_notes = 3 };
	int lines;

	(void)state;
	for (lines = 0; lines < 300; lines++) {
		struct top_layout l = top_layout(&s, lines);

		assert_true(l.gpus >= 0 && l.peers >= 0 && l.processes >= 0 && l.notes >= 0 && l.peers != 1);
		assert_true(l.gpus <= 64 && l.peers <= 41 && l.notes <= 3);
		if (lines >= 3)
			assert_int_equal(l.gpus + l.peers + l.processes + l.notes, lines - 3);
	}
}

static void ten_lines_show_some_of_each(void **state)
{
	struct top_sample s = { .nr_gpus = 8, .nr_peers = 1, .nr_notes = 1 };
	struct top_layout l = top_layout(&s, 10);

	(void)state;
	assert_true(l.gpus >= 1 && l.notes == 1 && l.processes >= 3);
}

static void scroll_stops_at_last_row(void **state)
{
	(void)state;
	assert_int_equal(top_scroll(0, 100, 10), 0);
	assert_int_equal(top_scroll(5, 100, 10), 5);
	assert_int_equal(top_scroll(5000, 100, 10), 90);
	assert_int_equal(top_scroll(5, 10, 10), 0);
	assert_int_equal(top_scroll(5, 0, 0), 0);
}

static const char *gauge(uint64_t used, uint64_t total, uint64_t reserve)
{
	const struct pp_bar1 gpu = { .used = used, .total = total };
	static char text[11];

	memset(text, 'x', sizeof(text));
	top_gauge(&gpu, reserve, text, 10);
	assert_int_equal(strlen(text), 10);
	return text;
}

static void gauge_shows_used_and_reserved(void **state)
{
	(void)state;
	assert_string_equal(gauge(0, 100, 0), "..........");
	assert_string_equal(gauge(30, 100, 20), "|||.....::");
	assert_string_equal(gauge(100, 100, 20), "||||||||||");
	assert_string_equal(gauge(500, 100, 500), "||||||||||");
	assert_string_equal(gauge(0, 0, 20), "..........");
	assert_string_equal(gauge(1ull << 60, 1ull << 62, 0), "|||.......");
}

static uint64_t fits(uint64_t total, uint64_t used, uint64_t reserve)
{
	const struct pp_bar1 gpu = { .total = total, .used = used, .free = total - used };

	return bar1_fits(&gpu, reserve);
}

static void room_in_bar1_is_never_negative(void **state)
{
	(void)state;
	assert_int_equal(fits(256 << 20, 8 << 20, 36 << 20), 212 << 20);
	assert_int_equal(fits(256 << 20, 220 << 20, 36 << 20), 0);
	assert_int_equal(fits(256 << 20, 250 << 20, 36 << 20), 0);
	assert_int_equal(fits(256 << 20, 300 << 20, 36 << 20), 0);
	assert_int_equal(fits(16 << 20, 0, 36 << 20), 0);
	assert_int_equal(fits((1 << 20) + 65535, 0, 0), 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sorted),
		cmocka_unit_test(rows_are_filtered),
		cmocka_unit_test(empty_sample_has_no_rows),
		cmocka_unit_test(rows_have_columns),
		cmocka_unit_test(layout_fits_every_screen),
		cmocka_unit_test(ten_lines_show_some_of_each),
		cmocka_unit_test(scroll_stops_at_last_row),
		cmocka_unit_test(gauge_shows_used_and_reserved),
		cmocka_unit_test(room_in_bar1_is_never_negative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
