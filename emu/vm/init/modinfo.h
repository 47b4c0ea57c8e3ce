/* SPDX-License-Identifier: MIT */
/* The .modinfo section of a module's file. */
#ifndef EMU_VM_MODINFO_H
#define EMU_VM_MODINFO_H

#include <stddef.h>

/** modinfo_name - the module's name in the kernel; 0, -errno, or -ENOEXEC if @file is no 64-bit module */
int modinfo_name(const char *file, char *out, size_t size);

#endif
