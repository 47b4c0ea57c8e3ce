// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/sys/cancel.h"
#include "refuse.h"

int gdr_refuse(int error, const char *format, ...)
{
	PP_NO_CANCEL;	/* the caller may hold a lock, and writing is a cancellation point */
	char text[512];
	va_list args;

	if (!secure_getenv("GDRCOPY_ENABLE_LOGGING"))
		return error;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "gdrapi: %s\n", text);	/* one call, so that lines of threads do not mix */
	return error;
}
