/* SPDX-License-Identifier: MIT */
/* Output of the demonstration: each line is one or two words (@what), then a sentence */
#ifndef SAY_H
#define SAY_H

#include <cuda.h>
#include "libpeerpin.h"

void say(const char *what, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns 1, so that a step can return its result. */
int failed(const char *what, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Return 0 if there was no error; else explain it with failed(). */
int cuda_failed(const char *what, CUresult result);
int peerpin_failed(const char *what, int error, const struct pp_why *why);

#endif
