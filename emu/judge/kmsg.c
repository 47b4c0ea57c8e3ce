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

/* The first lines of the scenario that matter */
static char lines[LINES_MAX][LINE_MAX_LENGTH];
static size_t nr_lines;

int kmsg_open(void)
{
	fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

void kmsg_mark(void)
{
	lseek(fd, 0, SEEK_END);
	nr_lines = 0;
}

/* "LEVEL,SEQUENCE,TIME,FLAGS;TEXT\n KEY=VALUE..." */
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

/* Returns 0 when there is no more now. What was overwritten meanwhile is left out. */
static int next_record(char *record)
{
	ssize_t got;

	do
		got = read(fd, record, RECORD_MAX - 1);
	while (got < 0 && (errno == EPIPE || errno == EINTR));
	if (got <= 0)
		return 0;
	record[got] = '\0';
	return 1;
}

static void keep(const char *text)
{
	if (nr_lines < LINES_MAX)
		snprintf(lines[nr_lines++], LINE_MAX_LENGTH, "%s", text);
}

/* One that overstays or a device that faults disturbs nobody else. */
static bool taints(const char *rule)
{
	return strcmp(rule, "iommu-fault") && strcmp(rule, "overstayed");
}

static void tell(const struct splat *splat)
{
	report_finding(splat->rule, "%s", splat->text);
	if (taints(splat->rule))
		report_taint();
}

void kmsg_judge(void)
{
	struct splat splat = { 0 }, ended;
	char record[RECORD_MAX], *text;
	int level;

	while (next_record(record)) {
		text = kmsg_text(record, &level);
		if (!text)
			continue;
		if (splat_feed(&splat, text, &ended))
			tell(&ended);
		if (splat_is_open(&splat) || level <= LEVEL_WARNING)
			keep(text);
	}
	if (splat_end(&splat, &ended))
		tell(&ended);
}

void kmsg_tell(void)
{
	size_t i;

	for (i = 0; i < nr_lines; i++)
		report_line("log", "%s", lines[i]);
}
