/* SPDX-License-Identifier: MIT */
/* Kernel modules: the drivers that the VM itself needs, and the modules of each command. */
#ifndef EMU_VM_MODULE_H
#define EMU_VM_MODULE_H

#include "config.h"

/** modules_load_rig - load the modules of the initramfs, in the order of /rig/order */
int modules_load_rig(void);

/** modules_load - load a command's modules; returns 0 or -errno; on error, a stream_note() names the module */
int modules_load(const struct config_command *command);

/**
 * modules_unload - remove the modules that modules_load() loaded, last first
 *
 * Returns the number of modules that could not be removed; a stream_note() names each
 * of them. A module that the command itself removed is no failure.
 */
int modules_unload(void);

#endif
