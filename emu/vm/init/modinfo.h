/* SPDX-License-Identifier: MIT */
/* The .modinfo section of a module's file. */
#ifndef EMU_VM_MODINFO_H
#define EMU_VM_MODINFO_H

#include <stddef.h>

/** modinfo_name - read the module's name in the kernel to @out; returns 0, -ENOEXEC if no 64-bit module, or -errno */
int modinfo_name(const char *file, char *out, size_t size);

#endif
