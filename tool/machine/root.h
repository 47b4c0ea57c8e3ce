/* SPDX-License-Identifier: MIT */
/* The option --root DIR|FILE.tar: the files of another machine, or of this one. */
#ifndef ROOT_H
#define ROOT_H

#include <signal.h>
#include "tree.h"

/**
 * struct root - an opened tree, and where it was unpacked
 * @dir: the temporary directory, "" if there is none; where there is one, signals wait
 * @signals: those that were held before
 */
struct root {
	struct tree *tree;
	char dir[256];
	sigset_t signals;
};

/*
 * @arg: a directory, a .tar or .tar.gz that `peerpin doctor --capture` made, or NULL: this machine. 0, or EXIT_FAILED
 * after fail(). root_close() is for after a 0 only.
 */
int root_open(const char *arg, struct root *out);

/* Closes the tree and removes what was unpacked. */
void root_close(struct root *root);

#endif
