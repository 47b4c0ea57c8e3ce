/* SPDX-License-Identifier: MIT */
/* Detects virtual machines: their bridges do not show the host's topology. */
#ifndef GUEST_H
#define GUEST_H

#include "machine.h"

/* Checks the processor's flag, the firmware's names and QEMU's bridges. Needs the devices of @m and their kinds. */
bool guest_is_virtual(const struct machine *m);

/* Returns the value for @m->is_guest. */
bool guest_found(const struct machine *m);

#endif
