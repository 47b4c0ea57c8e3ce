/* SPDX-License-Identifier: MIT */
/* Leak check of the kernel's memory (kmemleak). */
#ifndef EMU_VM_LEAK_H
#define EMU_VM_LEAK_H

/**
 * leaks_tell - scan for leaks, and write the leaks found to stderr
 *
 * kmemleak writes their number to the kernel log, where emu/vm/run finds it. Call
 * after the modules are removed, so that memory referenced only by them counts as
 * leaked. Takes ten seconds; does nothing on a kernel without kmemleak.
 */
void leaks_tell(void);

#endif
