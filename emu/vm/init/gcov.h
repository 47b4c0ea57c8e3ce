/* SPDX-License-Identifier: MIT */
/* Copies the coverage counts of modules from debugfs, for the option --gcov of emu/vm/run. */
#ifndef EMU_VM_GCOV_H
#define EMU_VM_GCOV_H

/** gcov_copy - copy all .gcda files to @dir, with their paths in debugfs; returns 0 or -errno */
int gcov_copy(const char *dir);

#endif
