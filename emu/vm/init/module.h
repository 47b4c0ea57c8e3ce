/* SPDX-License-Identifier: MIT */
/* Kernel modules: the rig's drivers, and the modules of each command. */
#ifndef EMU_VM_MODULE_H
#define EMU_VM_MODULE_H

#include "config.h"

/** modules_load_rig - load the modules of the initramfs, in the order of /rig/order */
int modules_load_rig(void);

/** modules_load - load a command's modules; 0, or -errno after a note that names the failed module */
int modules_load(const struct config_command *command);

/**
 * modules_unload - remove the modules that modules_load() loaded, last first
 *
 * Returns the number of modules that could not be removed; a note names each. A
 * module that the command has removed itself is no failure.
 */
int modules_unload(void);

#endif
