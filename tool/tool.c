// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "tool.h"

static const char *command_name;

static void complain(const char *format, va_list args)
{
	fputs("peerpin: ", stderr);
	vfprintf(stderr, format, args);
}

int fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	putc('\n', stderr);
	return EXIT_FAILED;
}

void set_command(const char *name)
{
	command_name = name;
}

int usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	fprintf(stderr, "; type: peerpin %s%s--help\n", command_name ? command_name : "", command_name ? " " : "");
	return EXIT_USAGE;
}

void no_memory(void)
{
	fail("there is no memory left");
	exit(EXIT_USAGE);
}
