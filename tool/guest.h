/* SPDX-License-Identifier: MIT */
/* Is a machine a virtual one, and are its bridges made up? */
#ifndef GUEST_H
#define GUEST_H

#include "machine.h"

/*
 * What @m->is_guest is to be; its devices and their kinds are known. What tells: the processor's flag, the firmware's
 * names, a bridge of QEMU's.
 */
bool guest_found(const struct machine *m);

#endif
