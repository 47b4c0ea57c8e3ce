/* SPDX-License-Identifier: MIT */
/* Prints the results of copies between a file and the GPU. */
#ifndef FILE_RESULT_H
#define FILE_RESULT_H

#include "tool/util/args.h"
#include "libpeerpin.h"

/* Prints one line on stderr, with the reason, if data went through host memory */
void warn_of_bounce(const struct pp_file_result *result);

/* Sorts @results by time. */
void print_file_results(const struct copy_args *args, struct pp_file_result *results);

#endif
