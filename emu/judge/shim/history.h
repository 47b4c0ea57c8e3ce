/* SPDX-License-Identifier: MIT */
/* What the test has asked of drivers so far, so that another process can ask the same. */
#ifndef SHIM_HISTORY_H
#define SHIM_HISTORY_H

#include "call.h"

/** history_do - make a call and remember it */
long history_do(const struct call *call);

/** history_repeat - in a process beside the test: the same on files of its own */
void history_repeat(void);

#endif
