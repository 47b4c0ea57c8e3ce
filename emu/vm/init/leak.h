/* SPDX-License-Identifier: MIT */
/* Memory of the kernel that nothing points to any more (kmemleak). */
#ifndef EMU_VM_LEAK_H
#define EMU_VM_LEAK_H

/**
 * leaks_tell - look for leaks, and write what was found to stderr
 *
 * The kernel's log says how many there are, and emu/vm/run reads it. To be
 * called when the modules are gone: what only they pointed to is a leak. A kernel
 * without kmemleak is left alone; with it this takes ten seconds.
 */
void leaks_tell(void);

#endif
