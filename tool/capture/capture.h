/* SPDX-License-Identifier: MIT */
/* peerpin doctor --capture FILE.tar: all files that doctor and topo read, without data that identifies the owner. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "tool/machine/tree.h"

/*
 * Writes the tar archive @file, compressed if the name ends in "gz". The same state of a machine gives the same bytes.
 * A captured file that was not readable has mode 0 in the tar, so that a reader of the capture gets EACCES too. Prints
 * a summary on stdout. Returns the exit status, after fail() if the status is not EXIT_OK.
 */
int capture(const struct tree *tree, const char *file);

#endif
