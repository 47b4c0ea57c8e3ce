/* SPDX-License-Identifier: MIT */
/* Checkers of a debug kernel that may have stopped checking. */
#ifndef EMU_VM_FINDER_H
#define EMU_VM_FINDER_H

/**
 * finders_tell - write to the kernel log if a checker has stopped
 *
 * DMA-API debugging disables itself for good when it cannot allocate an entry, as in
 * a test with failing allocations. Later mappings are not checked. emu/vm/run treats
 * the line as a splat. Does nothing on a kernel without DMA-API debugging.
 */
void finders_tell(void);

#endif
