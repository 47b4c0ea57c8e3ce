/* SPDX-License-Identifier: MIT */
/* A second process that opens the device itself and repeats the test's calls. */
#ifndef SHIM_FOREIGN_H
#define SHIM_FOREIGN_H

#include "emu/judge/share.h"

/** foreign_try - stops the test for the time of the trial; sets @changed of @share */
void foreign_try(struct share *share);

#endif
