/* SPDX-License-Identifier: MIT */
/* Records the test's calls to drivers, so that another process can repeat the calls. */
#ifndef SHIM_HISTORY_H
#define SHIM_HISTORY_H

#include "call.h"

/** history_do - make a call and record it */
long history_do(const struct call *call);

/** history_repeat - repeat the recorded calls, in a child of the test, on newly opened files */
void history_repeat(void);

#endif
