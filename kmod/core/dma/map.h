/* SPDX-License-Identifier: GPL-2.0 */
/* A map: the bus addresses of a region for one device. */
#ifndef _PEERPIN_MAP_H
#define _PEERPIN_MAP_H

#include <linux/scatterlist.h>
#include "../region/provider.h"

struct device;

/**
 * struct pp_map - bus addresses of whole extents, in order
 * @dev: the device
 * @segment: maximum bytes of an entry
 * @sgt: the bus addresses, in entries of at most @segment bytes
 * @marks: every @stride-th entry with its offset in the region; pp_map_seek() starts there
 * @phys: for a map of pp_map_adopt(): physical address of the first byte, or the byte's bus
 *	address if the IOMMU does not map that address. 0 for other maps
 * @page_backed: as in struct pp_provider
 * @attrs: attributes of the mapping (DMA_ATTR_*)
 * @bounced: some entries are bounce buffers, which must be synchronised with the memory
 */
struct pp_map {
	struct device *dev;
	u32 segment;
	struct sg_table sgt;
	struct pp_map_mark *marks;
	unsigned int nr_marks;
	u32 stride;
	phys_addr_t phys;
	unsigned long attrs;
	bool page_backed;
	bool bounced;
};

/**
 * pp_map_init() - count the entries of a map of @x for @dev
 *
 * @cached: the memory is cacheable (PEERPIN_CACHING_CACHED); only used if it is not @page_backed
 *
 * @x must stay during the call, e.g. because the caller is a user of the region.
 * Return: number of entries, for pp_map_alloc().
 */
u64 pp_map_init(struct pp_map *map, struct device *dev,
		const struct pp_extents *x, bool page_backed, bool cached);

/**
 * pp_map_alloc() - allocate @entries entries
 *
 * Context: process, sleeps for memory. Return: 0 or -ENOMEM.
 */
int pp_map_alloc(struct pp_map *map, u64 entries);

/**
 * pp_map_make() - map @x, which must be the same as in pp_map_init()
 *
 * @x must stay during this call and during pp_map_undo().
 * Context: process; takes no lock, calls the DMA API only, does not wait.
 * Return: 0, -ENOMEM, or -EIO if the device cannot reach the memory.
 */
int pp_map_make(struct pp_map *map, const struct pp_extents *x);
void pp_map_undo(struct pp_map *map, const struct pp_extents *x);

/**
 * pp_map_adopt() - list a mapping that the provider has made for @dev
 * @sgt: bus addresses; not needed afterwards
 * @offset: offset of the region in @sgt, in bytes
 * @length: bytes of the region
 *
 * To end the map, call pp_map_free(), not pp_map_undo(). Context: process, sleeps for memory.
 * Return: 0; -ENOMEM; -EIO @sgt is too short, or lists bounce buffers or addresses that
 * @dev cannot reach.
 */
int pp_map_adopt(struct pp_map *map, struct device *dev, struct sg_table *sgt,
		 u64 offset, u64 length);

/* free the tables of a map that is undone, adopted, not made or all zero; any context, but a large table takes long */
void pp_map_free(struct pp_map *map);

/* copy a range of a @bounced map to and from its bounce buffers */
void pp_map_sync_for_device(struct pp_map *map, u64 offset, u64 length);
void pp_map_sync_for_cpu(struct pp_map *map, u64 offset, u64 length);

/* find the entry that holds @offset; @skip is set to the bytes of the entry before @offset */
struct scatterlist *pp_map_seek(struct pp_map *map, u64 offset, u32 *skip);

/* return @length, cut so that the bytes from @bus on cross no segment boundary of the device */
u32 pp_map_to_boundary(const struct pp_map *map, dma_addr_t bus, u32 length);

#endif
