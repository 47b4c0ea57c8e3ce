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
static long now_ms;

/* ---- the clock ------------------------------------------------------------------- */

void progress_start(struct progress *progress)
{
	(void)progress;
	now_ms = 0;
}

long progress_ms(const struct progress *progress)
{
	(void)progress;
	return now_ms;
}

/* The time limit ends when scenario @last begins. */
void progress_show(const struct progress *progress, const char *id, size_t done, size_t planned, size_t found)
{
	(void)progress;
	(void)done;
	(void)planned;
	(void)found;
	if (!strcmp(id, last))
		now_ms = 116 * 1000;
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

/* Make the scenario @id endless. */
static void make_last(const char *id)
{
	char path[PATH_MAX];
	FILE *file;

	last = id;
	snprintf(path, sizeof(path), "%s/odd", root);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "odd() {\n[ $1 = %s ] || return\nexec sleep 60; }\n", id);
	fclose(file);
}

static void ends(const char *id, int status, const char *outcome, const char *why)
{
	static char *no_args[] = { NULL };
	const struct verify_args args = { .test_args = no_args, .device = "lsi" };
	struct summary summary;
	struct run run;

	make_last(id);
	run_all(&run, &args, &place);
	assert_int_equal(run.stop, STOP_TIME);
	summary_make(&summary, &run);
	assert_int_equal(summary_status(&summary), status);
	assert_string_equal(summary_outcome(&summary), outcome);
	assert_string_equal(summary_stop(&summary), why);
	summary_free(&summary);
	run_free(&run);
}

static void timeout_before_rules_is_incomplete(void **state)
{
	static const char why[] = "two minutes were over before each rule was tried; --full has no time limit";

	(void)state;
	ends("plain/scatter-0", EXIT_USAGE, "incomplete", why);
	ends("high-memory", EXIT_USAGE, "incomplete", why);
	ends("plain/foreign-at-user-1", EXIT_USAGE, "incomplete", why);
	ends("plain/rmmod-at-user-1", EXIT_USAGE, "incomplete", why);
}

static void timeout_after_rules_is_clean(void **state)
{
	static const char why[] = "two minutes were over; --full has no time limit";

	(void)state;
	ends("plain/revoke-at-kernel-1", EXIT_OK, "clean", why);
	ends("plain/kill-at-kernel-2", EXIT_OK, "clean", why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timeout_before_rules_is_incomplete),
		cmocka_unit_test(timeout_after_rules_is_clean),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
