/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The version of NVIDIA's driver that the emulator plays: the module parameter driver_version.
 *
 *	before 570	get_pages_persistent() refuses every flag with -EINVAL
 *			get_pages() of an unaligned range leaves a pointer to a freed table
 *	before 580	page tables have version 0x10002, without flags
 *			get_rsync_registers() checks its argument
 *			an importer of dma-bufs that cannot reach peers fails when it maps, not when it attaches
 *	580 on		the CPU can map dma-bufs of coherent GPUs
 *			the driver refuses a far peer of a non-coherent GPU on a chipset that it does not know: route.h
 *	610 on		the CPU can map dma-bufs of all other GPUs, too
 *
 * From NVIDIA's open source (535.288.01 to 595.45.04); 610 from gdrcopy 2.6, which requires it for mmap().
 */
#ifndef _EMUGPU_DRIVER_H
#define _EMUGPU_DRIVER_H

#include <linux/types.h>

/* Whether the played driver is of @branch or a later one. Any context. */
bool emugpu_driver_since(unsigned int branch);

/* Version of the page tables in the header of the played driver. Any context */
u32 emugpu_driver_table_version(void);

/* Make /sys/module/emugpu/version the played version, until emugpu_driver_hide(). Module init and exit */
void emugpu_driver_show(void);
void emugpu_driver_hide(void);

#endif
