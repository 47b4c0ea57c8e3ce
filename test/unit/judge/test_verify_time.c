// SPDX-License-Identifier: MIT
/* Verdict of a quick run without enough time. This file mocks the clock of verify; fake_vm_run is the VM. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tool/tool.h"
#include "test/unit/unit.h"
#include "emu/judge/report/summary.h"

static char root[] = "/tmp/peerpin-test.XXXXXX";
static struct place place;
static const char *last;
static long now_ms, last_ms, step_ms;
static bool begun;

/* ---- the clock ------------------------------------------------------------------- */

void progress_start(struct progress *progress)
{
	(void)progress;
	now_ms = 0;
	begun = false;
}

long progress_ms(const struct progress *progress)
{
	(void)progress;
	return now_ms;
}

/* From the beginning of scenario @last on, the clock advances by @step_ms at each output of the VM, up to @last_ms. */
void progress_show(const struct progress *progress, const char *id, size_t done, size_t planned, size_t found)
{
	(void)progress;
	(void)done;
	(void)planned;
	(void)found;
	begun |= !strcmp(id, last);
	if (begun && now_ms < last_ms)
		now_ms = now_ms + step_ms < last_ms ? now_ms + step_ms : last_ms;
}

void progress_clear(const struct progress *progress)
{
	(void)progress;
}

/* ---- running --------------------------------------------------------------------- */

static int setup(void **state)
{
	char directory[PATH_MAX], from[PATH_MAX];

	(void)state;
	if (!mkdtemp(root) || !realpath("test/unit/judge/fake_vm_run", from))
		return -1;
	snprintf(directory, sizeof(directory), "%s/emu", root);
	mkdir(directory, 0700);
	snprintf(directory, sizeof(directory), "%s/emu/vm", root);
	mkdir(directory, 0700);
	snprintf(place.run, sizeof(place.run), "%s/emu/vm/run", root);
	snprintf(place.dir, sizeof(place.dir), "%s", root);
	snprintf(place.log, sizeof(place.log), "%s/log", root);
	snprintf(place.complaints, sizeof(place.complaints), "%s/complaints", root);
	return symlink(from, place.run);
}

static int teardown(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void make_odd(const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/odd", root);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* The scenario @id is endless, and begins at @ms. */
static void make_endless(const char *id, long ms)
{
	char text[128];

	last = id;
	last_ms = ms;
	step_ms = ms;
	snprintf(text, sizeof(text), "odd() {\n[ $1 = %s ] || return\nexec sleep 60; }\n", id);
	make_odd(text);
}

static void check(int status, const char *outcome, const char *why, bool all_kinds)
{
	static char *no_args[] = { NULL };
	const struct verify_args args = { .test_args = no_args, .device = "lsi", .nvidia = "open" };
	struct summary summary;
	bool never = false;
	struct run run;
	size_t i;

	run_all(&run, &args, &place);
	assert_int_equal(run.stop, STOP_TIME);
	summary_make(&summary, &run);
	assert_int_equal(summary_status(&summary), status);
	assert_string_equal(summary_outcome(&summary), outcome);
	assert_string_equal(summary_stop(&summary), why);
	assert_true(summary_left(&summary) > 0);
	for (i = 0; i < summary.nr_left; i++)
		never |= summary.left[i].never;
	assert_int_equal(never, !all_kinds);
	summary_free(&summary);
	run_free(&run);
}

static const char in_two_minutes[] = "two minutes were over; --full has no time limit";
static const char in_four_minutes[] =
	"four minutes were over before each kind of scenario was tried; --full has no time limit";

static void timeout_before_kinds_is_incomplete(void **state)
{
	static const char *const ids[] = {
		"plain/scatter-0", "plain/foreign-at-user-1", "plain/fork-at-user-1", "iommu",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		make_endless(ids[i], 236 * 1000);
		check(EXIT_USAGE, "incomplete", in_four_minutes, false);
	}
}

static void timeout_after_kinds_is_clean(void **state)
{
	(void)state;
	make_endless("iommu/revoke-at-kernel-2", 116 * 1000);
	check(EXIT_OK, "clean", in_two_minutes, true);
	make_endless("plain/kill-at-kernel-1", 116 * 1000);
	check(EXIT_OK, "clean", in_two_minutes, true);
}

/* Two minutes are over soon after the second scenario. Then only the first scenarios of each kind run. */
static void slow_run_tries_each_kind(void **state)
{
	(void)state;
	make_odd("odd() {\n[ $1 != plain/scatter-0 ] || sleep 1; return 1; }\n");
	last = "plain/scatter-0";
	last_ms = 116 * 1000;
	step_ms = 60 * 1000;	/* a VM that is silent for longer is taken for dead */
	check(EXIT_OK, "clean", in_two_minutes, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timeout_before_kinds_is_incomplete),
		cmocka_unit_test(timeout_after_kinds_is_clean),
		cmocka_unit_test(slow_run_tries_each_kind),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
