/* SPDX-License-Identifier: MIT */
/* Serves the metrics by HTTP. */
#ifndef METRICS_LISTEN_H
#define METRICS_LISTEN_H

#include "args.h"

/* Serves until a signal ends the program. Returns the exit status; prints the error. */
int metrics_listen(const struct metrics_args *args);

#endif
