/* SPDX-License-Identifier: MIT */
/* SHARE_FOREIGN: a second process opens the device itself and repeats the test's calls. */
#ifndef SHIM_FOREIGN_H
#define SHIM_FOREIGN_H

#include "emu/judge/share.h"

/** foreign_try - run the second process while the test is stopped; sets @changed of @share */
void foreign_try(struct share *share);

#endif
