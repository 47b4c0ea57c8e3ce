/* SPDX-License-Identifier: MIT */
/*
 * The root file system of the VM: the host's files through 9p, below an overlay in
 * memory. All writes go to the overlay, which is lost when the VM ends.
 */
#ifndef EMU_VM_ROOT_H
#define EMU_VM_ROOT_H

#include "config.h"

/** root_mount_early - mount /proc, /sys and /dev in the initramfs */
void root_mount_early(void);

/** root_enter - build the root file system and enter it; on failure ends the VM */
void root_enter(const struct config *config);

/** root_fail - write the error to the console and end the VM */
void root_fail(const char *what, int error) __attribute__((noreturn));

#endif
