/* SPDX-License-Identifier: MIT */
/* Prints the results of copies between a file and the GPU. */
#ifndef FILE_RESULT_H
#define FILE_RESULT_H

#include "tool/util/args.h"
#include "libpeerpin.h"

/* If data went through host memory, prints one line with the reason on stderr. */
void warn_of_bounce(const struct pp_file_result *result);

/* Prints the results, and sorts @results by time. */
void print_file_results(const struct copy_args *args, struct pp_file_result *results);

#endif
