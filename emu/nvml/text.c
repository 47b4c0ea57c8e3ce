// SPDX-License-Identifier: MIT
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

nvmlReturn_t text_put(char *out, unsigned int length, const char *format, ...)
{
	char text[128];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length <= (unsigned int)n)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(out, text, n + 1);
	return NVML_SUCCESS;
}
