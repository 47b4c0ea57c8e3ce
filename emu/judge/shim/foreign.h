/* SPDX-License-Identifier: MIT */
/* Another process that opens the device itself, and asks for what the test has. */
#ifndef SHIM_FOREIGN_H
#define SHIM_FOREIGN_H

#include "emu/judge/share.h"

/** foreign_try - the test stands still meanwhile; what came of it is in @share */
void foreign_try(struct share *share);

#endif
