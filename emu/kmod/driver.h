/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The version of NVIDIA's driver that the emulator plays: the module parameter driver_version.
 *
 *	before 570	get_pages_persistent() refuses every flag with -EINVAL
 *	580 on		the CPU can map dma-bufs of coherent GPUs
 *	610 on		and of all other GPUs
 *
 * The version of page tables is that of the header with which consumers were built, so it is a
 * parameter of its own, table_version.
 *
 * From NVIDIA's open source (535.288.01 to 595.45.04); 610 from gdrcopy 2.6, which requires it for mmap().
 */
#ifndef _EMUGPU_DRIVER_H
#define _EMUGPU_DRIVER_H

#include <linux/types.h>

/* Whether the played driver is of @branch or a later one. Any context. */
bool emugpu_driver_since(unsigned int branch);

#endif
