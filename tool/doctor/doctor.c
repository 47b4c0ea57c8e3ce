// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tool/capture/capture.h"
#include "tool/doctor/checks/checks.h"
#include "doctor.h"
#include "args.h"
#include "json.h"
#include "text.h"
#include "pair.h"
#include "tool/machine/root.h"
#include "tool/tool.h"

/* @v: NULL if there are no pairs */
static void print(FILE *file, bool json, const struct view *v, const struct report *r, const struct pairs *pairs,
		  int status)
{
	struct json_object *o;

	if (!json) {
		doctor_text(file, v, r, pairs);
		return;
	}
	o = doctor_json(v, r, pairs, status);
	fprintf(file, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
	json_object_put(o);
}

static int examine(const struct view *v, bool json, FILE *file)
{
	struct report report = { 0 };
	struct pairs pairs;
	int status;

	checks_run(v, &report);
	pairs_judge(v, &pairs);
	status = report_count(&report, HEALTH_FAIL) ? EXIT_FAILED : EXIT_OK;
	print(file, json, v, &report, &pairs, status);
	pairs_free(&pairs);
	report_free(&report);
	return status;
}

int doctor_examine(const struct tree *tree, bool json, FILE *file)
{
	struct view *v = malloc(sizeof(*v));
	int ret = v ? view_open(tree, v) : -ENOMEM;

	if (ret) {
		free(v);
		return fail("the machine cannot be examined: %s; end some programs, then try again", strerror(-ret));
	}
	if (v->pci_error == -E2BIG)
		ret = fail(MACHINE_TOO_LARGE, MACHINE_MAX_PAIRS);
	else
		ret = examine(v, json, file);
	view_close(v);
	free(v);
	return ret;
}

static int examine_process(const struct tree *tree, const char *pid, bool json)
{
	const struct pairs none = { 0 };
	struct report report = { 0 };
	struct process process;
	int status;

	if (process_read(tree, pid, &process))
		return fail("there is no process %s", pid);
	checks_run_on(&process, &report);
	status = report_count(&report, HEALTH_FAIL) ? EXIT_FAILED : EXIT_OK;
	print(stdout, json, NULL, &report, &none, status);
	report_free(&report);
	return status;
}

static int examine_or_capture(const struct tree *tree, const struct doctor_args *args)
{
	if (args->capture)
		return capture(tree, args->capture);
	if (args->process)
		return examine_process(tree, args->process, args->json);
	return doctor_examine(tree, args->json, stdout);
}

static int run(int argc, char **argv)
{
	struct doctor_args args;
	struct root root;
	int ret = parse_doctor_args(argc, argv, &args);

	if (!ret)
		ret = root_open(args.root, &root);
	if (ret)
		return ret;
	ret = examine_or_capture(root.tree, &args);
	root_close(&root);
	return ret;
}

const struct command doctor_command = {
	.name = "doctor",
	.summary = "say why GPUs and peers are refused or slow, and what to type",
	.usage = "doctor [--root DIR|FILE.tar] [--process PID] [--json | --capture FILE.tar]",
	.options =
		"  --root DIR|FILE.tar    examine another machine, from the files that --capture has copied\n"
		"  --process PID          examine one process only: which frees do its caches of registrations notice?\n"
		"  --json                 print one JSON object\n"
		"  --capture FILE.tar     copy the files that doctor and topo read, without serial numbers and names of hosts\n",
	.examples =
		"  sudo peerpin doctor\n"
		"  sudo peerpin doctor --capture machine.tar\n"
		"  peerpin doctor --process $(pgrep -n fi_pingpong)\n",
	.page = "peerpin-doctor",
	.run = run,
};
