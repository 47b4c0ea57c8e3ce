/* SPDX-License-Identifier: MIT */
/* The head of a result: machine, driver and versions. */
#ifndef PERF_MACHINE_H
#define PERF_MACHINE_H

#include "args.h"
#include "result.h"

/* Adds facts. Names of hosts and users, serial numbers and addresses are left out: the text may go into a bug report. */
void perf_add_machine(const struct perf_args *args, struct perf_result *out);

#endif
