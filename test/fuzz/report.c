// SPDX-License-Identifier: MIT
/*
 * verify and copy must print well-formed reports for any output of a VM with a foreign driver. The
 * first line of the input is a command line; tabs separate the words. The output of the guest
 * follows and, after a form feed, the kernel log.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tool/copy/file_result.h"
#include "output.h"
#include "tool/copy/result.h"
#include "target.h"
#include "tool/tool.h"
#include "tool/util/grow.h"
#include "valid.h"
#include "emu/judge/run/death.h"
#include "emu/judge/report/html.h"
#include "emu/judge/report/json.h"
#include "emu/judge/run/stream.h"
#include "emu/judge/report/text.h"

enum {
	MAX_ARGS = 8,
	MAX_PLAN = 20,		/* a longer plan would take too long */
	MAX_LOOKS = 3,
};

const unsigned int target_forms = 1;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

/* ---- verify ------------------------------------------------------------------------ */

/* Plan the scenarios that the output of the guest begins, if they exist. */
static void plan_what_begins(const char *said, struct scenarios *plan)
{
	char *copy = strdup(said), *rest = copy, *line;
	struct scenario scenario;

	while ((line = strsep(&rest, "\n")) && plan->count < MAX_PLAN) {
		if (strncmp(line, "begin ", 6) || scenario_parse(line + 6, &scenario))
			continue;
		must(!strcmp(scenario.id, line + 6), "an ID is read as it is written", line);
		plan->at = grow(plan->at, plan->count, sizeof(scenario));
		plan->at[plan->count++] = scenario;
	}
	free(copy);
}

/* Check some scenarios planned after the recording: --only must accept each name. */
static void plan_more(const struct recording *recording)
{
	struct scenarios more = { 0 };
	struct scenario again;
	size_t i;

	if (!recording->count)
		return;
	scenarios_after(&more, LEVEL_FULL, recording);
	for (i = 0; i < more.count; i += 1 + more.count / MAX_LOOKS)
		must(!scenario_parse(more.at[i].id, &again) && !strcmp(again.keys, more.at[i].keys),
		     "what is planned can be repeated", more.at[i].id);
	scenarios_free(&more);
}

static void judge_log(struct result *result, const char *log)
{
	int fd = memfd_create("log", 0);
	char path[32];

	if (fd < 0 || write(fd, log, strlen(log)) != (ssize_t)strlen(log))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	result->ended = true;
	death_judge(result, path);
	close(fd);
}

static char *printed(void (*report)(FILE *file, const struct summary *s), const struct summary *s, size_t *size)
{
	char *text;
	FILE *file = open_memstream(&text, size);

	report(file, s);
	fclose(file);
	return text;
}

/* @plain: the arguments of the user contain no control characters */
static void must_be_reports(const struct run *run, bool plain)
{
	struct summary summary;
	char *text;
	size_t size;

	summary_make(&summary, run);
	text = printed(json_report, &summary, &size);
	must_be_json(text, size);
	free(text);
	text = printed(html_report, &summary, &size);
	must_be_html(text);
	free(text);
	text = printed(text_report, &summary, &size);
	if (plain)
		must_be_plain(text);
	free(text);
	summary_free(&summary);
}

static void verify(const struct verify_args *args, const char *said, const char *log, bool plain)
{
	struct run run = { .args = args };
	struct scenarios plan = { 0 };
	struct stream stream = { .plan = &plan, .results = &run.results, .recording = &run.recording, .current = -1 };

	plan_what_begins(said, &plan);
	stream_feed(&stream, said, strlen(said));
	if (log && stream_current(&stream))
		judge_log(stream_current(&stream), log);
	plan_more(&run.recording);
	must_be_reports(&run, plain);
	run_free(&run);
	scenarios_free(&plan);
}

/* ---- copy -------------------------------------------------------------------------- */

static void copy(const char *name)
{
	struct copy_args args = { .peer = name, .path = name, .size = 1, .repeat = 2, .json = true };
	struct pp_copy_result results[2] = { { .total_ns = 2 }, { .pins = 1 } };
	struct pp_file_result files[2] = { { .direct = 1 }, { .bounced = 1 } };
	struct output out;

	output_begin(&out, &stdout);
	print_results(&args, results);
	output_end(&out);
	must_be_json(out.text, out.size);
	free(out.text);
	args.from = SIDE_FILE;
	output_begin(&out, &stdout);
	print_file_results(&args, files);
	output_end(&out);
	must_be_json(out.text, out.size);
	free(out.text);
}

/* ---- an input ---------------------------------------------------------------------- */

static char *word_or(char *word, const char *other)
{
	return word ? word : (char *)other;
}

static void read_args(char *line, struct verify_args *args, char **rest)
{
	char *words[3] = { NULL };
	int i;

	for (i = 0; i < 3 && line; i++)
		words[i] = strsep(&line, "\t");
	for (i = 0; i < MAX_ARGS && line; i++)
		rest[i] = strsep(&line, "\t");
	*args = (struct verify_args){
		.driver = word_or(words[0], "driver.ko"), .test = word_or(words[1], "test"), .kernel = words[2],
		.test_args = rest, .device = "lsi", .nvidia = "open",
	};
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = strndup((const char *)bytes, size), *rest = text, *line = strsep(&rest, "\n"), *said;
	char *test_args[MAX_ARGS + 1] = { NULL };
	struct verify_args args;
	bool plain = true;
	char *at;

	for (at = line; *at; at++)
		plain = plain && (unsigned char)*at >= ' ' && *at != 0x7f;
	read_args(line, &args, test_args);
	copy(args.driver);
	said = rest ? strsep(&rest, "\f") : text + strlen(text);
	verify(&args, said, rest, plain);
	free(text);
	return 0;
}
