/* SPDX-License-Identifier: MIT */
/* What in a kernel finds mistakes, and may have given up doing so. */
#ifndef EMU_VM_FINDER_H
#define EMU_VM_FINDER_H

/**
 * finders_tell - say in the kernel's log what has not looked to the end
 *
 * DMA-API debugging ends for good when it has no memory for a mapping of its own
 * books, as where a test has allocations fail: what came later was not looked at.
 * emu/vm/run takes the line for a complaint. A kernel without it is left alone.
 */
void finders_tell(void);

#endif
