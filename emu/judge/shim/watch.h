/* SPDX-License-Identifier: MIT */
/* Counts the test's calls on drivers' files and mappings, and runs the planned action. */
#ifndef SHIM_WATCH_H
#define SHIM_WATCH_H

#include <stdbool.h>

#include "call.h"

/** watch_wants - whether @call is on a driver's file or mapping, in a judged process */
bool watch_wants(const struct call *call);

/** watch_do - count the call, run the planned action if it is due, and make the call */
long watch_do(const struct call *call);

#endif
