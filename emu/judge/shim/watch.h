/* SPDX-License-Identifier: MIT */
/* The test's calls on drivers' files and mappings: counted, and acted at. */
#ifndef SHIM_WATCH_H
#define SHIM_WATCH_H

#include <stdbool.h>

#include "call.h"

/** watch_wants - whether it is a call on a driver's file or mapping, in a process that is judged */
bool watch_wants(const struct call *call);

/** watch_do - count it, do what the plan has for it, and make it */
long watch_do(const struct call *call);

#endif
