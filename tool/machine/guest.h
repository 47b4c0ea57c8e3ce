/* SPDX-License-Identifier: MIT */
/* Is a machine a virtual one, and are its bridges made up? */
#ifndef GUEST_H
#define GUEST_H

#include "machine.h"

/* What tells: the processor's flag, the firmware's names, a bridge of QEMU's. Devices of @m and their kinds are known. */
bool guest_is_virtual(const struct machine *m);

/* What @m->is_guest is to be */
bool guest_found(const struct machine *m);

#endif
