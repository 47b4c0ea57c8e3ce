/* SPDX-License-Identifier: MIT */
/* The action of the plan, done to the test at the planned event. */
#ifndef SHIM_ACTION_H
#define SHIM_ACTION_H

#include "emu/judge/share.h"
#include "call.h"

/** action_before - all actions except SHARE_DURING; does not return if the action ends the process */
void action_before(struct share *share, const struct call *call);

/** action_during - make the call, and revoke while it runs */
long action_during(struct share *share, const struct call *call);

#endif
