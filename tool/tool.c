// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "tool.h"

static void complain(const char *format, va_list args, const char *hint)
{
	fputs("peerpin: ", stderr);
	vfprintf(stderr, format, args);
	fprintf(stderr, "%s\n", hint);
}

int fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args, "");
	va_end(args);
	return EXIT_FAILED;
}

int usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args, "; type: peerpin help");
	va_end(args);
	return EXIT_USAGE;
}

void no_memory(void)
{
	fail("there is no memory left");
	exit(EXIT_USAGE);
}
