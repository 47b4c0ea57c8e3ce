/* SPDX-License-Identifier: MIT */
/* Kernel modules: those that the rig needs, and those that the user asked for. */
#ifndef EMU_VM_MODULE_H
#define EMU_VM_MODULE_H

#include "config.h"

/** modules_load_rig - load the initramfs's own, in the order of /rig/order */
int modules_load_rig(void);

/** modules_load - load the user's; 0, or -errno after a note naming the culprit */
int modules_load(const struct config_command *command);

/**
 * modules_unload - remove what modules_load() loaded, last first
 *
 * Returns how many could not be removed, each named in a note. One that the
 * command removed itself is no failure.
 */
int modules_unload(void);

#endif
