/* SPDX-License-Identifier: MIT */
/* How the demonstration tells what it does: a word or two, then a sentence. */
#ifndef SAY_H
#define SAY_H

#include <cuda.h>
#include "libpeerpin.h"

void say(const char *what, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns 1, so that a step can end with it. */
int failed(const char *what, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* 0 when there was no error; else failed(), with what it means. */
int cuda_failed(const char *what, CUresult result);
int peerpin_failed(const char *what, int error, const struct pp_why *why);

#endif
