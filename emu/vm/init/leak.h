/* SPDX-License-Identifier: MIT */
/* Finds leaks of kernel memory with kmemleak. */
#ifndef EMU_VM_LEAK_H
#define EMU_VM_LEAK_H

/**
 * leaks_tell - scan for leaks since the boot, and write the leaks found to stderr
 *
 * kmemleak writes the number of leaks to the kernel log, where emu/vm/run finds it. Call
 * after the modules are removed, so that memory that only a module referenced counts as
 * leaked. Takes twelve seconds or more, so call it only after the last command of the VM. Does nothing
 * on a kernel without kmemleak, or if the command line has kmemleak=off.
 */
void leaks_tell(void);

#endif
