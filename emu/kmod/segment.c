// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-mapping.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "compat.h"
#include "gpu.h"
#include "memory.h"
#include "segment.h"
#include "slab.h"

/* The CPU caches no BAR: nothing to sync. SKIP_CPU_SYNC also lets DMA API debugging accept overlapping mappings. */
#define MAP_ATTRS (DMA_ATTR_SKIP_CPU_SYNC | DMA_ATTR_MMIO)

/* Number of contiguous bytes from @offset on, at most @max. @offset + @max must lie in the memory. */
static u32 piece(const struct emugpu_memory *memory, u64 offset, u64 max)
{
	const u32 *page = &memory->pages[offset / EMUGPU_PAGE_SIZE];
	u64 length = EMUGPU_PAGE_SIZE - offset % EMUGPU_PAGE_SIZE;

	for (; length < max && page[1] == page[0] + 1; page++)
		length += EMUGPU_PAGE_SIZE;
	return min(length, max);
}

static phys_addr_t phys(const struct emugpu_memory *memory, u64 offset)
{
	return emugpu_gpu_page_phys(memory->gpu, memory->pages[offset / EMUGPU_PAGE_SIZE]) + offset % EMUGPU_PAGE_SIZE;
}

static u32 count(const struct emugpu_memory *memory, u64 offset, u64 end, u64 max)
{
	u32 n = 0;

	for (; offset < end; n++)
		offset += piece(memory, offset, min(max, end - offset));
	return n;
}

/* Unmaps the first @n segments. */
static void unmap_first(struct device *dev, struct sg_table *sgt, unsigned int n)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sg(sgt->sgl, sg, n, i) {
		dma_unmap_phys(dev, sg_dma_address(sg), sg_dma_len(sg), DMA_BIDIRECTIONAL, MAP_ATTRS);
		cond_resched();
	}
}

static int map_one(struct device *dev, struct scatterlist *sg, phys_addr_t at, u32 length)
{
	dma_addr_t bus = dma_map_phys(dev, at, length, DMA_BIDIRECTIONAL, MAP_ATTRS);

	if (dma_mapping_error(dev, bus))
		return -EIO;
	sg_set_page(sg, NULL, length, 0);
	sg_dma_address(sg) = bus;
	sg_dma_len(sg) = length;
	return 0;
}

static int map_all(struct device *dev, struct sg_table *sgt, const struct emugpu_memory *memory, u64 offset, u64 end,
		   u64 max)
{
	struct scatterlist *sg;
	unsigned int i;
	u32 length;
	int err;

	for_each_sgtable_sg(sgt, sg, i) {
		length = piece(memory, offset, min(max, end - offset));
		err = map_one(dev, sg, phys(memory, offset), length);
		if (err) {
			unmap_first(dev, sgt, i);
			return err;
		}
		offset += length;
		cond_resched();
	}
	return 0;
}

static int table_fill(struct device *dev, struct sg_table *sgt, const struct emugpu_memory *memory, u64 offset,
		      u64 end)
{
	u64 max = PAGE_ALIGN_DOWN(dma_get_max_seg_size(dev));
	int err;

	if (!max)
		return -EINVAL;
	err = sg_alloc_table(sgt, count(memory, offset, end, max), EMUGPU_GFP);
	if (err)
		return err;
	err = map_all(dev, sgt, memory, offset, end, max);
	if (err)
		sg_free_table(sgt);
	return err;
}

struct sg_table *emugpu_segments_map(struct device *dev, const struct emugpu_memory *memory, u64 offset, u64 size)
{
	struct sg_table *sgt = kzalloc(sizeof(*sgt), EMUGPU_GFP);

	if (sgt && table_fill(dev, sgt, memory, offset, offset + size)) {
		kfree(sgt);
		return NULL;
	}
	return sgt;
}

void emugpu_segments_unmap(struct device *dev, struct sg_table *sgt)
{
	unmap_first(dev, sgt, sgt->nents);
	sg_free_table(sgt);
	kfree(sgt);
}
