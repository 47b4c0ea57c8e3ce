/* SPDX-License-Identifier: MIT */
#ifndef FILE_COPY_H
#define FILE_COPY_H

#include "tool/util/args.h"

/* Runs peerpin copy between a file and the GPU. Returns the exit status. */
int file_copy(const struct copy_args *args);

#endif
