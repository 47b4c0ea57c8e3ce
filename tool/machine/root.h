/* SPDX-License-Identifier: MIT */
/* The option --root DIR|FILE.tar: opens the files of another machine, or of this machine without the option. */
#ifndef ROOT_H
#define ROOT_H

#include <signal.h>
#include "tree.h"

/**
 * struct root - an open tree and its temporary directory
 * @dir: the temporary directory; "": none. While it exists, signals that end the program are blocked
 * @signals: the signal mask to restore
 */
struct root {
	struct tree *tree;
	char dir[256];
	sigset_t signals;
};

/*
 * @arg: a directory, or a .tar or .tar.gz made by `peerpin doctor --capture`; NULL: this machine. Returns 0, or
 * EXIT_FAILED after fail(). Call root_close() only after 0.
 */
int root_open(const char *arg, struct root *out);

/* Closes the tree and removes the temporary directory. */
void root_close(struct root *root);

#endif
