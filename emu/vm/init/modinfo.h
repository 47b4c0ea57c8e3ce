/* SPDX-License-Identifier: MIT */
/* What a module's file says of it. */
#ifndef EMU_VM_MODINFO_H
#define EMU_VM_MODINFO_H

#include <stddef.h>

/** modinfo_name - as the kernel will know it; 0, -errno, or -ENOEXEC: it is no module of this machine's kind */
int modinfo_name(const char *file, char *out, size_t size);

#endif
