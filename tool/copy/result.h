/* SPDX-License-Identifier: MIT */
/* What copies took, and how it is shown. */
#ifndef RESULT_H
#define RESULT_H

#include <stddef.h>
#include "tool/util/args.h"
#include "libpeerpin.h"

/* Sorts @results on the way. */
void print_results(const struct copy_args *args,
		   struct pp_copy_result *results);

#endif
