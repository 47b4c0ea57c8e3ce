/* SPDX-License-Identifier: MIT */
/*
 * The root file system of the machine: the host's, seen through 9p, under a
 * layer in memory that takes every write and goes away with the machine.
 */
#ifndef EMU_VM_ROOT_H
#define EMU_VM_ROOT_H

#include "config.h"

/** root_mount_early - /proc, /sys and /dev of the initramfs */
void root_mount_early(void);

/** root_enter - build the root and move into it; on failure ends the machine */
void root_enter(const struct config *config);

/** root_fail - say on the console what went wrong and end the machine */
void root_fail(const char *what, int error) __attribute__((noreturn));

#endif
