/* SPDX-License-Identifier: MIT */
/* Runs the plan's action, in the test's process, at the planned event. */
#ifndef SHIM_ACTION_H
#define SHIM_ACTION_H

#include "emu/judge/share.h"
#include "call.h"

/** action_before - run any action except SHARE_DURING; does not return if the action ends the process */
void action_before(struct share *share, const struct call *call);

/** action_during - run SHARE_DURING: make the call, and revoke GPU memory while the call runs */
long action_during(struct share *share, const struct call *call);

#endif
