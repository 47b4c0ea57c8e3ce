/* SPDX-License-Identifier: MIT */
/* What an error of libpeerpin means to the user, and what to type then. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "libpeerpin.h"

/* All print one line and return EXIT_FAILED. */
int explain_open(int error);
int explain_peer(const char *name, int error);
int explain_copy(const char *peer, int error, const struct pp_why *why);

/* Why there are only @found GPUs' BAR1 to show: @error of bar1_find() */
const char *why_no_bar1(unsigned int found, int error);

#endif
