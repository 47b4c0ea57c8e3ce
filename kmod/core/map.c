// SPDX-License-Identifier: GPL-2.0
/*
 * Why not nvidia_p2p_dma_map_pages() for GPU memory: it takes the vendor's
 * lock and reads the vendor's page table, which a free callback on another
 * thread takes away meanwhile; and waiting in that callback for a mapping in
 * progress would deadlock, for the callback runs under the same lock. The
 * bus address of a BAR page is the DMA API's business and nobody else's, so
 * we ask dma_map_resource() ourselves, from physical addresses read while the
 * table was held. One call maps a whole extent, where the vendor maps page by
 * page.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include "map.h"

static u32 map_segment_size(struct device *dev, bool page_backed)
{
	size_t size = dma_get_max_seg_size(dev);

	if (page_backed)
		size = min(size, dma_max_mapping_size(dev));
	size = min_t(size_t, size, SZ_2G);
	return max_t(u32, rounddown(size, PAGE_SIZE), PAGE_SIZE);
}

static int map_alloc(struct pp_map *map, const struct pp_extents *x, u32 segment)
{
	unsigned long count = 0;
	unsigned int i;

	for (i = 0; i < x->count; i++)
		count += DIV_ROUND_UP_ULL(x->at[i].length, segment);
	if (count > UINT_MAX)
		return -ENOMEM;
	return sg_alloc_table(&map->sgt, count, GFP_KERNEL_ACCOUNT);
}

static void map_fill_pages(struct pp_map *map, const struct pp_extents *x,
			   u32 segment)
{
	struct scatterlist *sg = map->sgt.sgl;
	unsigned int i;
	u64 done;

	for (i = 0; i < x->count; i++) {
		for (done = 0; done < x->at[i].length; sg = sg_next(sg)) {
			u32 len = min_t(u64, segment, x->at[i].length - done);

			sg_set_page(sg, pfn_to_page(PHYS_PFN(x->at[i].phys + done)),
				    len, 0);
			done += len;
		}
	}
}

static bool map_any_bounced(struct pp_map *map)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(&map->sgt, sg, i)
		if (dma_need_sync(map->dev, sg_dma_address(sg)))
			return true;
	return false;
}

/*
 * The transfers synchronise the ranges they use. Mapping must not: it would
 * copy a bounced region over what the CPU has written elsewhere in it since.
 */
static int map_pages(struct pp_map *map, const struct pp_extents *x, u32 segment)
{
	int ret;

	map_fill_pages(map, x, segment);
	ret = dma_map_sgtable(map->dev, &map->sgt, DMA_BIDIRECTIONAL,
			      DMA_ATTR_SKIP_CPU_SYNC);
	if (ret)
		return ret == -ENOMEM ? ret : -EIO;
	map->bounced = map_any_bounced(map);
	return 0;
}

/* The entries of one extent; returns the first entry of the next. */
static struct scatterlist *map_fill_bus(struct scatterlist *sg, dma_addr_t bus,
					u64 length, u32 segment)
{
	while (length) {
		u32 len = min_t(u64, segment, length);

		sg_dma_address(sg) = bus;
		sg_dma_len(sg) = len;
		bus += len;
		length -= len;
		sg = sg_next(sg);
	}
	return sg;
}

/*
 * Without translation the bus address is the physical one. The DMA API warns
 * with a backtrace about one out of reach; a user's choice of machine is no
 * reason for that, so look first.
 */
static bool map_reachable(struct device *dev, const struct pp_extent *e)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY)
		return true;
	return e->phys + e->length - 1 <=
	       min_not_zero(dma_get_mask(dev), dev->bus_dma_limit);
}

static void unmap_bar(struct pp_map *map, const struct pp_extents *x,
		      unsigned int count)
{
	struct scatterlist *sg = map->sgt.sgl;
	unsigned int i;
	u64 left;

	for (i = 0; i < count; i++) {
		dma_addr_t bus = sg_dma_address(sg);

		for (left = x->at[i].length; left; sg = sg_next(sg))
			left -= sg_dma_len(sg);
		dma_unmap_resource(map->dev, bus, x->at[i].length,
				   DMA_BIDIRECTIONAL, 0);
	}
}

static int map_bar(struct pp_map *map, const struct pp_extents *x, u32 segment)
{
	struct scatterlist *sg = map->sgt.sgl;
	unsigned int i;

	for (i = 0; i < x->count; i++) {
		const struct pp_extent *e = &x->at[i];
		dma_addr_t bus;

		if (!map_reachable(map->dev, e))
			goto err_unmap;
		bus = dma_map_resource(map->dev, e->phys, e->length,
				       DMA_BIDIRECTIONAL, 0);
		if (dma_mapping_error(map->dev, bus))
			goto err_unmap;
		sg = map_fill_bus(sg, bus, e->length, segment);
	}
	map->sgt.nents = map->sgt.orig_nents;
	return 0;

err_unmap:
	unmap_bar(map, x, i);
	return -EIO;
}

int pp_map_make(struct pp_map *map, struct device *dev,
		const struct pp_extents *x, bool page_backed)
{
	u32 segment = map_segment_size(dev, page_backed);
	int ret;

	map->dev = dev;
	map->page_backed = page_backed;
	map->bounced = false;
	ret = map_alloc(map, x, segment);
	if (ret)
		return ret;
	return page_backed ? map_pages(map, x, segment) :
			     map_bar(map, x, segment);
}

void pp_map_undo(struct pp_map *map, const struct pp_extents *x)
{
	if (map->page_backed)
		dma_unmap_sgtable(map->dev, &map->sgt, DMA_BIDIRECTIONAL,
				  DMA_ATTR_SKIP_CPU_SYNC);
	else
		unmap_bar(map, x, x->count);
}

void pp_map_free(struct pp_map *map)
{
	sg_free_table(&map->sgt);
}

struct scatterlist *pp_map_seek(struct pp_map *map, u64 offset, u32 *skip)
{
	struct scatterlist *sg = map->sgt.sgl;

	while (offset >= sg_dma_len(sg)) {
		offset -= sg_dma_len(sg);
		sg = sg_next(sg);
	}
	*skip = offset;
	return sg;
}

static void map_sync(struct pp_map *map, u64 offset, u64 length,
		     enum dma_data_direction dir,
		     void (*sync)(struct device *dev, dma_addr_t addr,
				  size_t size, enum dma_data_direction dir))
{
	struct scatterlist *sg;
	u32 skip;

	sg = pp_map_seek(map, offset, &skip);
	for (; length; sg = sg_next(sg), skip = 0) {
		u32 len = min_t(u64, length, sg_dma_len(sg) - skip);

		sync(map->dev, sg_dma_address(sg) + skip, len, dir);
		length -= len;
	}
}

/*
 * Also before the device only writes: what it then leaves unwritten must come
 * back as it was, not as what the bounce buffer held before.
 */
void pp_map_sync_for_device(struct pp_map *map, u64 offset, u64 length)
{
	map_sync(map, offset, length, DMA_BIDIRECTIONAL,
		 dma_sync_single_for_device);
}

void pp_map_sync_for_cpu(struct pp_map *map, u64 offset, u64 length)
{
	map_sync(map, offset, length, DMA_FROM_DEVICE, dma_sync_single_for_cpu);
}
