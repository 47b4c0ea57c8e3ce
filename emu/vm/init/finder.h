/* SPDX-License-Identifier: MIT */
/* Detects that a checker of a debug kernel has stopped checking. */
#ifndef EMU_VM_FINDER_H
#define EMU_VM_FINDER_H

/**
 * finders_tell - write a line to the kernel log if a checker has stopped
 *
 * If DMA-API debugging cannot allocate an entry, as in a test with failing allocations,
 * it disables itself until the next boot. Later mappings are not checked. emu/vm/run
 * treats the line as a splat. Does nothing on a kernel without DMA-API debugging.
 */
void finders_tell(void);

#endif
