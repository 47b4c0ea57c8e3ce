// SPDX-License-Identifier: GPL-2.0
/*
 * nvidia_p2p_dma_map_pages() is not used for GPU memory. This function takes NVIDIA's lock
 * and reads NVIDIA's page table, which a free callback in another thread may free. The callback
 * holds NVIDIA's lock and would deadlock if it waited for a mapping in progress. Instead we call
 * dma_map_phys() with physical addresses that were read while the page table existed. One
 * call maps a whole extent; NVIDIA's function maps page by page.
 */
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include "../../compat/compat.h"
#include "map.h"

#define MAP_ATTRS (DMA_ATTR_SKIP_CPU_SYNC | DMA_ATTR_NO_WARN)

enum {
	MARKS_MAX = 2048,	/* small enough for kmalloc(): marks are freed in any context */
	STRIDE_MIN = 64,
};

struct pp_map_mark {
	struct scatterlist *sg;
	u64 offset;
};

/* Whole pages if possible, because some importers of a dma-buf expect whole pages. */
static u32 map_segment_size(const struct pp_map *map)
{
	size_t size = dma_get_max_seg_size(map->dev);

	if (map->page_backed)
		size = min(size, dma_max_mapping_size(map->dev));
	size = min_t(size_t, size, SZ_2G);
	return PAGE_ALIGN_DOWN(size) ?: size;
}

u32 pp_map_to_boundary(const struct pp_map *map, dma_addr_t bus, u32 length)
{
	u64 mask = dma_get_seg_boundary(map->dev);

	return min_t(u64, length - 1, mask - (bus & mask)) + 1;
}

/* Bytes of the next entry, at @phys. The DMA API requires that an entry lies in one segment. */
static u32 map_piece(const struct pp_map *map, phys_addr_t phys, u64 left)
{
	return pp_map_to_boundary(map, phys, min_t(u64, left, map->segment));
}

static bool map_is_direct(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return !domain || domain->type == IOMMU_DOMAIN_IDENTITY;
}

/* Number of entries of an extent that begins at @phys */
static u64 map_pieces(const struct pp_map *map, phys_addr_t phys, u64 length)
{
	u64 count = 0, done;

	for (done = 0; done < length; count++)
		done += map_piece(map, phys + done, length - done);
	return count;
}

/* Maximum number of entries of an extent, at any bus address that an IOMMU may choose */
static u64 map_most_pieces(const struct pp_map *map, u64 length)
{
	u64 mask = dma_get_seg_boundary(map->dev);

	return DIV_ROUND_UP_ULL(length, map->segment) + 1 +
	       (length > mask ? div64_u64(length, mask + 1) : 0);
}

/*
 * Cacheable GPU memory (of a coherent GPU) is system memory. With DMA_ATTR_MMIO an SMMU would map it as device memory,
 * and the device would not see data in the caches of the CPU. Before 6.18 the memory must have struct pages, which
 * nvidia-uvm makes if the kernel does not; otherwise the mapping fails. x86 has only emulated GPUs. Their memory may have
 * no struct pages, and DMA_ATTR_MMIO is harmless, because all devices snoop.
 */
static unsigned long map_bar_attrs(const struct pp_extents *x, bool cached)
{
	if (!cached || (IS_ENABLED(CONFIG_X86) && !pfn_valid(PHYS_PFN(x->at[0].phys))))
		return MAP_ATTRS | DMA_ATTR_MMIO;
	return MAP_ATTRS;
}

static void map_begin(struct pp_map *map, struct device *dev, bool page_backed)
{
	map->dev = dev;
	map->page_backed = page_backed;
	map->segment = map_segment_size(map);
}

/* @there: true: the entries lie at the addresses in @x. False: an IOMMU chooses the addresses; count the maximum */
static u64 map_count(const struct pp_map *map, const struct pp_extents *x,
		     bool there)
{
	u64 count = 0;
	unsigned int i;

	for (i = 0; i < x->count; i++, cond_resched())
		count += there ? map_pieces(map, x->at[i].phys, x->at[i].length) :
				 map_most_pieces(map, x->at[i].length);
	return count;
}

u64 pp_map_init(struct pp_map *map, struct device *dev,
		const struct pp_extents *x, bool page_backed, bool cached)
{
	map_begin(map, dev, page_backed);
	map->attrs = page_backed ? MAP_ATTRS : map_bar_attrs(x, cached);
	return map_count(map, x, page_backed || map_is_direct(dev));
}

int pp_map_alloc(struct pp_map *map, u64 entries)
{
	if (entries > UINT_MAX ||
	    sg_alloc_table(&map->sgt, entries, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	map->stride = max_t(u32, DIV_ROUND_UP(entries, MARKS_MAX), STRIDE_MIN);
	map->marks = kmalloc_array(DIV_ROUND_UP(entries, map->stride),
				   sizeof(*map->marks), GFP_KERNEL_ACCOUNT);
	return map->marks ? 0 : -ENOMEM;
}

void pp_map_free(struct pp_map *map)
{
	kfree(map->marks);
	sg_free_table(&map->sgt);
}

static void map_fill(struct pp_map *map, const struct pp_extents *x)
{
	struct scatterlist *sg = map->sgt.sgl;
	unsigned int i;
	u64 done;
	u32 len;

	for (i = 0; i < x->count; i++, cond_resched()) {
		for (done = 0; done < x->at[i].length; done += len) {
			phys_addr_t phys = x->at[i].phys + done;

			len = map_piece(map, phys, x->at[i].length - done);
			sg_set_page(sg, pfn_to_page(PHYS_PFN(phys)), len,
				    offset_in_page(phys));
			sg = sg_next(sg);
		}
	}
}

static void map_mark(struct pp_map *map)
{
	struct scatterlist *sg;
	u64 offset = 0;
	int i;

	map->nr_marks = 0;
	for_each_sgtable_dma_sg(&map->sgt, sg, i) {
		if (i % map->stride == 0)
			map->marks[map->nr_marks++] =
				(struct pp_map_mark){ sg, offset };
		offset += sg_dma_len(sg);
		cond_resched();
	}
}

/* The last mark at or before @offset. The first mark is at 0. */
static const struct pp_map_mark *map_mark_before(const struct pp_map *map,
						 u64 offset)
{
	unsigned int low = 0, high = map->nr_marks;

	while (high - low > 1) {
		unsigned int middle = low + (high - low) / 2;

		if (map->marks[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return &map->marks[low];
}

struct scatterlist *pp_map_seek(struct pp_map *map, u64 offset, u32 *skip)
{
	const struct pp_map_mark *mark = map_mark_before(map, offset);
	struct scatterlist *sg = mark->sg;

	offset -= mark->offset;
	while (offset >= sg_dma_len(sg)) {
		offset -= sg_dma_len(sg);
		sg = sg_next(sg);
	}
	*skip = offset;
	return sg;
}

/* Behind an IOMMU whole pages are never bounced, but dma_need_sync() of 6.1 may return true. */
static bool map_any_bounced(struct pp_map *map)
{
	struct scatterlist *sg;
	int i;

	if (!map_is_direct(map->dev) && dev_is_dma_coherent(map->dev))
		return false;
	for_each_sgtable_dma_sg(&map->sgt, sg, i) {
		if (dma_need_sync(map->dev, sg_dma_address(sg)))
			return true;
		cond_resched();
	}
	return false;
}

/*
 * Without translation the bus address is the physical address. The DMA API prints a backtrace
 * if the device cannot reach the address. A user must not be able to cause this, so check first.
 */
static bool map_reachable(struct device *dev, const struct pp_extents *x)
{
	u64 limit = min_not_zero(dma_get_mask(dev), dev->bus_dma_limit);
	unsigned int i;

	if (!map_is_direct(dev))
		return true;
	for (i = 0; i < x->count; i++)
		if (x->at[i].phys + x->at[i].length - 1 > limit)
			return false;
	return true;
}

/*
 * Each transfer synchronises its range. Mapping and unmapping must not synchronise: that
 * would copy a whole bounced region over newer data of the CPU.
 */
static int map_pages(struct pp_map *map, const struct pp_extents *x)
{
	int ret;

	/* Memory out of reach is bounced, if the kernel has bounce buffers. */
	if (!map_reachable(map->dev, x) && dma_max_mapping_size(map->dev) == SIZE_MAX)
		return -EIO;
	map_fill(map, x);
	ret = dma_map_sgtable(map->dev, &map->sgt, DMA_BIDIRECTIONAL,
			      map->attrs);
	if (ret)
		return ret == -ENOMEM ? ret : -EIO;
	map->bounced = map_any_bounced(map);
	return 0;
}

/* Sets the entries of one extent; returns the first entry of the next extent. */
static struct scatterlist *map_set_bus(struct pp_map *map,
				       struct scatterlist *sg, dma_addr_t bus,
				       u64 left)
{
	for (; left; sg = sg_next(sg)) {
		u32 len = map_piece(map, bus, left);

		sg_dma_address(sg) = bus;
		sg_dma_len(sg) = len;
		sg->length = len;	/* some importers of a dma-buf read sg->length */
		bus += len;
		left -= len;
		map->sgt.nents++;
	}
	return sg;
}

static void unmap_bar(struct pp_map *map, const struct pp_extents *x,
		      unsigned int count)
{
	struct scatterlist *sg = map->sgt.sgl;
	unsigned int i;
	u64 left;

	for (i = 0; i < count; i++, cond_resched()) {
		dma_addr_t bus = sg_dma_address(sg);

		for (left = x->at[i].length; left; sg = sg_next(sg))
			left -= sg_dma_len(sg);
		dma_unmap_phys(map->dev, bus, x->at[i].length,
			       DMA_BIDIRECTIONAL, map->attrs);
	}
}

static int map_bar(struct pp_map *map, const struct pp_extents *x)
{
	struct scatterlist *sg = map->sgt.sgl;
	unsigned int i;

	if (!map_reachable(map->dev, x))
		return -EIO;
	map->sgt.nents = 0;
	for (i = 0; i < x->count; i++, cond_resched()) {
		dma_addr_t bus = dma_map_phys(map->dev, x->at[i].phys,
					      x->at[i].length,
					      DMA_BIDIRECTIONAL, map->attrs);

		if (dma_mapping_error(map->dev, bus))
			goto err_unmap;
		sg = map_set_bus(map, sg, bus, x->at[i].length);
	}
	map->bounced = !(map->attrs & DMA_ATTR_MMIO) && map_any_bounced(map);
	return 0;

err_unmap:
	unmap_bar(map, x, i);
	return -EIO;
}

int pp_map_make(struct pp_map *map, const struct pp_extents *x)
{
	int ret;

	ret = map->page_backed ? map_pages(map, x) : map_bar(map, x);
	if (!ret)
		map_mark(map);
	return ret;
}

void pp_map_undo(struct pp_map *map, const struct pp_extents *x)
{
	if (map->page_backed)
		dma_unmap_sgtable(map->dev, &map->sgt, DMA_BIDIRECTIONAL,
				  map->attrs);
	else
		unmap_bar(map, x, x->count);
}

/*
 * Is @bus in a window of the device's host bridge, where BARs are? IOMMU drivers do not
 * allocate from windows. So an address in a window without an IOMMU mapping is for
 * peer-to-peer traffic below a switch; such traffic does not pass the IOMMU.
 */
static bool map_is_on_bus(struct device *dev, dma_addr_t bus, u64 length)
{
	struct resource_entry *window;

	if (!dev_is_pci(dev))
		return false;
	resource_list_for_each_entry(window, &pci_find_host_bridge(to_pci_dev(dev)->bus)->windows)
		if (resource_type(window->res) == IORESOURCE_MEM &&
		    bus >= window->res->start - window->offset &&
		    bus + length - 1 <= window->res->end - window->offset)
			return true;
	return false;
}

/*
 * An exporter may list addresses that the device cannot reach, or list physical addresses for
 * a device behind an IOMMU. The device would truncate such addresses or access other memory.
 * The walk of the IOMMU's tables comes last. The exporter's mapping keeps the tables of its
 * addresses, but tables of other addresses may be freed when another driver unmaps.
 */
static bool map_is_there(struct device *dev, dma_addr_t bus, u64 length)
{
	u64 limit = min_not_zero(dma_get_mask(dev), dev->bus_dma_limit);

	if (bus > limit || length - 1 > limit - bus)
		return false;
	return map_is_direct(dev) || map_is_on_bus(dev, bus, length) ||
	       iommu_iova_to_phys(iommu_get_domain_for_dev(dev), bus);
}

/*
 * @x lists bus addresses here, because only the exporter knows the physical addresses. The
 * caller frees @x->at.
 */
static int map_read_bus(struct pp_extents *x, struct device *dev,
			struct sg_table *sgt, u64 offset, u64 length)
{
	struct scatterlist *sg;
	u64 at = 0, from, to;
	dma_addr_t bus;
	int i;

	x->room = sgt->nents;
	x->at = kvmalloc_array(x->room, sizeof(*x->at), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!x->at)
		return -ENOMEM;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		from = max(offset, at);
		to = min(offset + length, at + sg_dma_len(sg));
		bus = sg_dma_address(sg) + from - at;
		at += sg_dma_len(sg);
		cond_resched();
		if (from >= to)
			continue;
		if (!map_is_there(dev, bus, to - from))
			return -EIO;
		pp_extents_add(x, bus, to - from);
	}
	return x->bytes == length ? 0 : -EIO;
}

/*
 * The caller keeps the mapping, so the IOMMU's tables stay during the walk. An address
 * without an IOMMU mapping is an address on the bus: see map_is_on_bus().
 */
static phys_addr_t map_first_phys(const struct pp_map *map)
{
	dma_addr_t bus = sg_dma_address(map->sgt.sgl);

	if (map_is_direct(map->dev))
		return bus;
	return iommu_iova_to_phys(iommu_get_domain_for_dev(map->dev), bus) ?: bus;
}

static void map_adopt_bus(struct pp_map *map, const struct pp_extents *x)
{
	struct scatterlist *sg = map->sgt.sgl;
	unsigned int i;

	map->sgt.nents = 0;
	for (i = 0; i < x->count; i++)
		sg = map_set_bus(map, sg, x->at[i].phys, x->at[i].length);
	map_mark(map);
	map->phys = map_first_phys(map);
}

/*
 * Bounce buffers that the exporter's mapping filled once are copies of the memory, and we
 * cannot synchronise them. Behind an IOMMU there are no bounce buffers: see
 * map_any_bounced().
 */
static bool map_is_a_copy(struct pp_map *map)
{
	return map_is_direct(map->dev) && dev_is_dma_coherent(map->dev) &&
	       map_any_bounced(map);
}

int pp_map_adopt(struct pp_map *map, struct device *dev, struct sg_table *sgt,
		 u64 offset, u64 length)
{
	struct pp_extents x = {};
	int ret;

	map_begin(map, dev, false);
	ret = map_read_bus(&x, dev, sgt, offset, length) ?:
	      pp_map_alloc(map, map_count(map, &x, true));
	if (!ret)
		map_adopt_bus(map, &x);
	kvfree(x.at);
	if (!ret && map_is_a_copy(map))
		ret = -EIO;
	return ret;
}

/*
 * For a device that is not coherent the DMA API flushes caches from the physical address of
 * the first byte on. Behind an IOMMU the next page may lie elsewhere: synchronise each page alone.
 */
static u32 map_sync_piece(const struct pp_map *map, dma_addr_t bus, u32 length)
{
	return map_is_direct(map->dev) ? length :
		min_t(u32, length, PAGE_SIZE - offset_in_page(bus));
}

static void map_sync(struct pp_map *map, u64 offset, u64 length,
		     enum dma_data_direction dir,
		     void (*sync)(struct device *dev, dma_addr_t addr,
				  size_t size, enum dma_data_direction dir))
{
	struct scatterlist *sg;
	u32 skip;

	sg = pp_map_seek(map, offset, &skip);
	while (length) {
		dma_addr_t bus = sg_dma_address(sg) + skip;
		u32 len = min_t(u64, length, sg_dma_len(sg) - skip);

		len = map_sync_piece(map, bus, len);
		sync(map->dev, bus, len, dir);
		length -= len;
		skip += len;
		if (skip < sg_dma_len(sg))
			continue;
		sg = sg_next(sg);
		skip = 0;
	}
}

/*
 * Needed also before a transfer in which the device only writes: bytes that the device leaves
 * unwritten must keep their value, and not get old content of the bounce buffer.
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
