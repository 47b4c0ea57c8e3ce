/* SPDX-License-Identifier: MIT */
/* Prints the results of copies. */
#ifndef RESULT_H
#define RESULT_H

#include <stddef.h>
#include "tool/util/args.h"
#include "libpeerpin.h"

/* Prints the results, and sorts @results by time. */
void print_results(const struct copy_args *args,
		   struct pp_copy_result *results);

#endif
