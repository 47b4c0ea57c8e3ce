/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segments: the scatterlist of a memory range for a peer device. Adjacent VRAM pages
 * are merged, up to the device's maximal segment size.
 */
#ifndef _EMUGPU_SEGMENT_H
#define _EMUGPU_SEGMENT_H

#include <linux/types.h>

struct device;
struct emugpu_memory;
struct sg_table;

/*
 * Maps a range of @memory for @dev, in both directions. The table has bus addresses, but no struct
 * pages. Returns NULL if the maximal segment size of @dev is below a page, if @dev cannot reach the
 * memory, or if out of memory.
 */
struct sg_table *emugpu_segments_map(struct device *dev, const struct emugpu_memory *memory, u64 offset, u64 size);
void emugpu_segments_unmap(struct device *dev, struct sg_table *sgt);

#endif
