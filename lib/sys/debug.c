// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cancel.h"
#include "debug.h"
#include "sys.h"

enum { UNREAD, OFF, ON };

static int read_environment(void)
{
	const char *value = secure_getenv("PEERPIN_DEBUG");

	return value && !strcmp(value, "1") ? ON : OFF;
}

bool pp_debugs(void)
{
	static _Atomic int state;	/* two threads that read the environment store the same value */
	int is = atomic_load_explicit(&state, memory_order_relaxed);

	if (is == UNREAD) {
		is = read_environment();
		atomic_store_explicit(&state, is, memory_order_relaxed);
	}
	return is == ON;
}

void pp_debug(const char *format, ...)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	char line[1024] = "peerpin: ";
	size_t length = strlen(line);
	va_list args;
	int added;

	if (!pp_debugs())
		return;
	va_start(args, format);
	added = vsnprintf(line + length, sizeof(line) - length - 1, format, args);
	va_end(args);
	if (added < 0)
		return;
	length = strlen(line);
	line[length++] = '\n';
	if (write(STDERR_FILENO, line, length) < 0)
		return;		/* stderr is closed, or its reader has gone: the line is lost */
}
