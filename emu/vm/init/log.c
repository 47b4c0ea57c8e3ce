// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "log.h"

/* The highest level: the console shows such a record at any setting of dmesg -n. */
#define LEVEL "<0>"

enum {
	LINE = 512,	/* the kernel refuses records of 1024 bytes */
};

static int record(const char *line)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	ssize_t put;

	if (fd < 0)
		return -1;
	put = write(fd, line, strlen(line));
	close(fd);
	return put < 0 ? -1 : 0;
}

/* The newline makes the kernel print the record now. Without it, the kernel waits for the next record. */
void log_line(const char *format, ...)
{
	char text[LINE], line[LINE + 8];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(line, sizeof(line), LEVEL "%s\n", text);
	if (record(line))
		fprintf(stderr, "%s\n", text);
	tcdrain(STDERR_FILENO);
}

unsigned long log_taints(void)
{
	FILE *file = fopen("/proc/sys/kernel/tainted", "re");
	unsigned long taints = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%lu", &taints) != 1)
		taints = 0;
	fclose(file);
	return taints;
}
