// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tool/tool.h"
#include "emu/judge/report/html.h"
#include "emu/judge/report/json.h"
#include "emu/judge/report/text.h"

static int cannot_write(const char *path)
{
	fail("%s could not be written: %s; give another file", *path ? path : "a file without a name", strerror(errno));
	return EXIT_USAGE;
}

/* Does not open a FIFO: the close would be an end of file for the FIFO's reader. */
static bool can_write_there(const char *path)
{
	struct stat st;
	int fd;

	if (stat(path, &st))
		return errno == ENOENT;		/* a dangling link; fopen() will create the link's target */
	if (S_ISFIFO(st.st_mode))
		return !access(path, W_OK);
	fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Does not change an existing file, and does not leave a new file. */
static bool can_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0)
		return errno == EEXIST && can_write_there(path);
	unlink(path);
	close(fd);
	return true;
}

/* Finds unwritable files before a run of hours. Returns 0, or EXIT_USAGE after printing the error. */
static int try_files(const struct verify_args *args)
{
	if (args->json && !can_write(args->json))
		return cannot_write(args->json);
	if (args->html && !can_write(args->html))
		return cannot_write(args->html);
	if (args->json && args->html && !strcmp(args->json, args->html))
		return usage_error("--json and --html both name %s; give each its own file", args->json);
	return 0;
}

/* @path: NULL if this report was not requested. Returns 0, or EXIT_USAGE after printing the error. */
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
	return cannot_write(path);
}

/* Returns EXIT_USAGE if a report cannot be written. Writes the files first, because stdout may be a closed pipe. */
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
		status = EXIT_USAGE;	/* main() prints the error */
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
		status = try_files(&args);
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
	.summary = "test a driver, and report which rules it breaks",
	.usage = "verify --driver \"FILE.ko K=V...\" --test PROGRAM [--device lsi|edu|nvme|rdma|none] [--quick|--full]\n"
		 "       [--nvidia open|proprietary] [--first] [--only ID] [--json FILE] [--html FILE] [--kernel VERSION|FILE] [-- ARG...]",
	.options =
		"  --driver FILE.ko       the driver, built for the kernel of --kernel, and its parameters; quote them\n"
		"  --test PROGRAM         a program that uses the driver and checks its data\n"
		"  --device NAME          PCI device for the driver: lsi (an LSI 53C895A), edu, nvme, rdma or none (lsi)\n"
		"  --nvidia NAME          NVIDIA's driver to emulate: open or proprietary (open)\n"
		"  --quick                run some scenarios of each kind, for about two minutes (default)\n"
		"  --full                 run all scenarios: hours\n"
		"  --first                stop at the first broken rule\n"
		"  --only ID              run only this scenario, whose id is in a report\n"
		"  --json FILE            write the report to FILE as JSON\n"
		"  --html FILE            write the report to FILE as an HTML page\n"
		"  --kernel VERSION|FILE  kernel of the virtual machines, as for peerpin-emu run (6.1, or $KERNEL)\n"
		"  -- ARG...              arguments of the test\n",
	.examples =
		"  peerpin verify --driver ./mydrv.ko --test ./mytest\n"
		"  peerpin verify --full --html report.html --driver ./mydrv.ko --test ./mytest\n",
	.page = "peerpin-verify",
	.run = verify,
};
