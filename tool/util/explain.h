/* SPDX-License-Identifier: MIT */
/* Explains errors of libpeerpin to the user, with the next command to type. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "libpeerpin.h"

/* These print one line and return EXIT_FAILED. */
int explain_open(int error);
int explain_peer(const char *name, int error);
int explain_copy(const char *peer, int error, const struct pp_why *why);

/* Returns a line that explains @error of bar1_find(); @found: number of GPUs that answered */
const char *why_no_bar1(unsigned int found, int error);

#endif
