// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmsg.h"
#include "report.h"
#include "splat.h"

enum {
	RECORD_MAX = 8192,
	LINE_MAX_LENGTH = 200,
	LINES_MAX = 40,
	LEVEL_WARNING = 4,
};

static int fd = -1;

/* Log lines of the scenario that belong to a splat or have level warning or above; the first LINES_MAX of them */
static char lines[LINES_MAX][LINE_MAX_LENGTH];
static size_t nr_lines;

int kmsg_open(void)
{
	fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 || lseek(fd, 0, SEEK_END) < 0 ? -errno : 0;
}

/* A record has the form "LEVEL,SEQUENCE,TIME,FLAGS;TEXT\n KEY=VALUE...". */
char *kmsg_text(char *record, int *out_level)
{
	char *text = strchr(record, ';');

	if (!text || *record < '0' || *record > '9')
		return NULL;
	*out_level = atoi(record) & 7;
	text++;
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* Returns false at the end of the log. EPIPE: the kernel has overwritten records that were not read yet. */
static bool next_record(char *record, bool *missing)
{
	ssize_t got;

	do {
		got = read(fd, record, RECORD_MAX - 1);
		*missing |= got < 0 && errno == EPIPE;
	} while (got < 0 && (errno == EPIPE || errno == EINTR));
	if (got <= 0)
		return false;
	record[got] = '\0';
	return true;
}

static void keep(const char *text)
{
	if (nr_lines < LINES_MAX)
		snprintf(lines[nr_lines++], LINE_MAX_LENGTH, "%s", text);
}

/* @late: the splat was logged after its scenario had ended */
static void tell(const struct splat *splat, bool late)
{
	if (late && !splat_disturbs(splat))
		return;
	report_finding(splat->rule, "%s", splat->text);
	if (splat_disturbs(splat))
		report_taint();
}

/* Returns false if records were overwritten before this read. */
static bool judge_records(bool late)
{
	struct splat splat = { 0 }, ended;
	char record[RECORD_MAX], *text;
	bool missing = false;
	int level;

	while (next_record(record, &missing)) {
		text = kmsg_text(record, &level);
		if (!text)
			continue;
		if (splat_feed(&splat, text, &ended))
			tell(&ended, late);
		if (splat_is_open(&splat) || level <= LEVEL_WARNING)
			keep(text);
	}
	if (splat_end(&splat, &ended))
		tell(&ended, late);
	return !missing;
}

/* Opens /dev/kmsg for each mark, because the kernel limits the rate of lines per open file. */
static int write_mark(void)
{
	static const char mark[] = "<6>" JUDGE_MARK "\n";
	int out = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (out < 0)
		return -errno;
	if (write(out, mark, strlen(mark)) < 0)
		ret = -errno;
	close(out);
	return ret;
}

/* A late splat of the last scenario is reported in the scenario that begins now, and taints the VM. */
int kmsg_mark(void)
{
	nr_lines = 0;
	judge_records(true);
	if (!report_findings())
		nr_lines = 0;
	return write_mark();
}

void kmsg_judge(void)
{
	if (!judge_records(false))
		report_line("untold", "the kernel log overflowed before it was read, so splats may be missing");
}

const char *kmsg_last(void)
{
	return nr_lines ? lines[nr_lines - 1] : "";
}

void kmsg_tell(void)
{
	size_t i;

	for (i = 0; i < nr_lines; i++)
		report_line("log", "%s", lines[i]);
}
