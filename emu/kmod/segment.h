/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segments: a range of memory as a peer device is to see it, neighbouring VRAM
 * pages in one, none longer than the device takes.
 */
#ifndef _EMUGPU_SEGMENT_H
#define _EMUGPU_SEGMENT_H

#include <linux/types.h>

struct device;
struct emugpu_memory;
struct sg_table;

/*
 * Bus addresses without pages, mapped for @dev, for both directions. NULL: @dev
 * takes no segment of a page, or cannot reach it, or there is no memory
 */
struct sg_table *emugpu_segments_map(struct device *dev, const struct emugpu_memory *memory, u64 offset, u64 size);
void emugpu_segments_unmap(struct device *dev, struct sg_table *sgt);

#endif
