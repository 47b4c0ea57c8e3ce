/* SPDX-License-Identifier: MIT */
/* What is done to the test at the event the plan names. */
#ifndef SHIM_ACTION_H
#define SHIM_ACTION_H

#include "emu/judge/share.h"
#include "call.h"

/** action_before - all but SHARE_DURING; does not return when it ends the process */
void action_before(struct share *share, const struct call *call);

/** action_during - make the call, and revoke while it runs */
long action_during(struct share *share, const struct call *call);

#endif
