/* SPDX-License-Identifier: MIT */
/* peerpin top on a terminal: full screen, with keys. */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "args.h"

/* Are stdin and stdout a terminal that can move the cursor? */
bool top_screen_works(void);

/* Returns the exit status. */
int top_screen(struct top *t, const struct top_args *args);

#endif
