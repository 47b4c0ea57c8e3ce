/* SPDX-License-Identifier: MIT */
/* What copies between a file and the GPU took, and how it is shown. */
#ifndef FILE_RESULT_H
#define FILE_RESULT_H

#include "tool/util/args.h"
#include "libpeerpin.h"

/* One line on stderr if anything went through host memory, and why */
void warn_of_bounce(const struct pp_file_result *result);

/* Sorts @results on the way. */
void print_file_results(const struct copy_args *args, struct pp_file_result *results);

#endif
