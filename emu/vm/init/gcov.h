/* SPDX-License-Identifier: MIT */
/* Coverage counts of modules, read from debugfs: --gcov of emu/vm/run. */
#ifndef EMU_VM_GCOV_H
#define EMU_VM_GCOV_H

/** gcov_copy - copy all .gcda files to dir, under their paths in debugfs; returns 0 or -errno */
int gcov_copy(const char *dir);

#endif
