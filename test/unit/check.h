/* SPDX-License-Identifier: MIT */
/* CHECK() replaces the asserts of cmocka, which work in one thread only. */
#ifndef UNIT_CHECK_H
#define UNIT_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define CHECK(condition) check(condition, #condition, __FILE__, __LINE__)

static inline void check(bool ok, const char *what, const char *file, int line)
{
	if (ok)
		return;
	fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
	_exit(1);
}

#endif
