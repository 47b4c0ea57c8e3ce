/* SPDX-License-Identifier: MIT */
/* peerpin doctor --capture FILE.tar: all files that doctor and topo read, without data that identifies the owner. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "tool/machine/tree.h"

/*
 * Writes @file: a tar, compressed if its name ends in ".gz". The same machine in the same state gives the same bytes.
 * A file that could not be read has mode 0 in the tar, so that a reader of the capture gets EACCES too. Prints a
 * summary on stdout. Returns the exit status, after fail() if it is not EXIT_OK.
 */
int capture(const struct tree *tree, const char *file);

#endif
