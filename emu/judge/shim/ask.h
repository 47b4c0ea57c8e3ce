/* SPDX-License-Identifier: MIT */
/* The shim's connection to the guest program of the judge. */
#ifndef SHIM_ASK_H
#define SHIM_ASK_H

#include <stdbool.h>

#include "emu/judge/share.h"

/** ask_share - the memory shared with the guest; NULL: this process is not judged */
struct share *ask_share(void);

/** ask_guest - send a request and wait for the answer; at most once per scenario; false: refused or timed out */
bool ask_guest(enum share_ask ask);

#endif
