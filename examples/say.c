// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include "say.h"

void say(const char *what, const char *format, ...)
{
	va_list args;

	printf("%-12s ", what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

int failed(const char *what, const char *format, ...)
{
	va_list args;

	printf("%-12s FAILED: ", what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	return 1;
}

int cuda_failed(const char *what, CUresult result)
{
	const char *name = NULL;

	if (!result)
		return 0;
	if (cuGetErrorName(result, &name) || !name)
		return failed(what, "CUDA error %d", (int)result);
	return failed(what, "%s", name);
}

int peerpin_failed(const char *what, int error, const struct pp_why *why)
{
	char text[256];

	if (!error)
		return 0;
	pp_explain(text, sizeof(text), error, why);
	return failed(what, "%s", text);
}
