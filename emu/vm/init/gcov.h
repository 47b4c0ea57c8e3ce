/* SPDX-License-Identifier: MIT */
/* Which lines of modules were taken, as the kernel tells it: --gcov of emu/vm/run. */
#ifndef EMU_VM_GCOV_H
#define EMU_VM_GCOV_H

/** gcov_copy - below dir, each under the path it has in debugfs; returns 0 or -errno */
int gcov_copy(const char *dir);

#endif
