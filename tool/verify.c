// SPDX-License-Identifier: MIT
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tool.h"
#include "verify_html.h"
#include "verify_json.h"
#include "verify_text.h"

/* Before hours are spent: NULL @path: nobody wants it. 0, or EXIT_USAGE after the complaint has been printed. */
static int try_file(const char *path)
{
	char directory[PATH_MAX];
	struct stat st;

	if (!path)
		return 0;
	snprintf(directory, sizeof(directory), "%s", path);
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		errno = EISDIR;
	else if (!access(path, W_OK) || (errno == ENOENT && !access(dirname(directory), W_OK)))
		return 0;
	fail("%s could not be written: %s", path, strerror(errno));
	return EXIT_USAGE;
}

/* As try_file() */
static int write_file(const char *path, const struct summary *summary,
		      void (*report)(FILE *file, const struct summary *summary))
{
	FILE *file;
	bool bad;

	if (!path)
		return 0;
	file = fopen(path, "we");
	if (file) {
		report(file, summary);
		bad = ferror(file);
		if (!fclose(file) && !bad)
			return 0;
	}
	fail("%s could not be written: %s", path, strerror(errno));
	return EXIT_USAGE;
}

/* A verdict that could not be delivered is none. What reads stdout may have gone, the files are there. */
static int report(const struct run *run)
{
	struct summary summary;
	int status;

	summary_make(&summary, run);
	status = summary_status(&summary);
	if (write_file(run->args->json, &summary, json_report))
		status = EXIT_USAGE;
	if (write_file(run->args->html, &summary, html_report))
		status = EXIT_USAGE;
	text_report(stdout, &summary);
	if (fflush(stdout))
		status = EXIT_USAGE;	/* main() says so */
	summary_free(&summary);
	return status;
}

static int verify(int argc, char **argv)
{
	struct verify_args args;
	struct place place;
	struct run run;
	int status = parse_verify_args(argc, argv, &args);

	if (!status)
		status = try_file(args.json);
	if (!status)
		status = try_file(args.html);
	if (!status)
		status = place_open(&place, &args);
	if (status)
		return status;
	run_all(&run, &args, &place);
	status = run.results.count || run.stop != STOP_FAILED ? report(&run) : EXIT_USAGE;
	run_free(&run);
	place_close(&place);
	return status;
}

const struct command verify_command = {
	.name = "verify",
	.summary = "say what a driver does wrong",
	.usage = "verify --driver \"FILE.ko K=V...\" --test PROGRAM [--device lsi|edu|nvme|none] [--quick|--full] [--first]\n"
		 "       [--only ID] [--json FILE] [--html FILE] [--kernel VERSION|FILE] [-- ARG...]",
	.run = verify,
};
