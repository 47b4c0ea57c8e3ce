/* SPDX-License-Identifier: MIT */
/* The guest, as the shim sees it. */
#ifndef SHIM_ASK_H
#define SHIM_ASK_H

#include <stdbool.h>

#include "emu/judge/share.h"

/** ask_share - orders and results; NULL: nobody judges this process */
struct share *ask_share(void);

/** ask_guest - once a scenario; returns whether it was done, when it is or when that takes too long */
bool ask_guest(enum share_ask ask);

#endif
