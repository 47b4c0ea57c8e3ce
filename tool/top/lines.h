/* SPDX-License-Identifier: MIT */
/* peerpin top without a terminal: one block of lines after each interval. */
#ifndef TOP_LINES_H
#define TOP_LINES_H

#include "args.h"

/* Returns the exit status. */
int top_lines(struct top *t, const struct top_args *args);

#endif
