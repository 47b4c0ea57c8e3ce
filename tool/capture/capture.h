/* SPDX-License-Identifier: MIT */
/* peerpin doctor --capture FILE.tar: what doctor and topo read of a machine, without what tells whose it is. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "tool/machine/tree.h"

/*
 * Writes @file: a tar, compressed if its name ends in ".gz". The same machine in the same state gives the same bytes.
 * Files that may not be read are there with mode 0, so that who reads the capture is refused as well. Tells on stdout
 * what it wrote. The exit status, after fail() if it is not EXIT_OK.
 */
int capture(const struct tree *tree, const char *file);

#endif
