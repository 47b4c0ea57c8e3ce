// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "api.h"
#include "dma.h"
#include "map.h"
#include "pin.h"
#include "poison.h"
#include "slab.h"
#include "table.h"

struct dma_map {
	struct emugpu_map base;
	struct nvidia_p2p_dma_mapping mapping;	/* for the consumer, which can write to it; never read */
	void *hw_address, *hw_len;		/* copies of the pointers in @mapping, for kvfree() */
	struct device *dev;
	struct sg_table sgt;
	enum dma_data_direction direction;
};

/* Poisons the mapping, so that a consumer that still uses it fails. */
static void map_free(struct dma_map *map)
{
	put_device(map->dev);
	kvfree(map->hw_address);
	kvfree(map->hw_len);
	emugpu_poison(&map->mapping, sizeof(map->mapping));
	kfree(map);
}

static void unmap_pages(struct dma_map *map)
{
	dma_unmap_sgtable(map->dev, &map->sgt, map->direction, 0);
	sg_free_table(&map->sgt);
}

/*
 * Merges adjacent pages into one segment, up to the device's maximal segment size. Reads pages[],
 * as NVIDIA's driver does, although the consumer can write to the array. The number of pages comes from
 * the request.
 */
static int map_pages(struct dma_map *map, const struct emugpu_pin *pin)
{
	int err = sg_alloc_table_from_pages_segment(&map->sgt, pin->pages, emugpu_table_nr_pages(pin), 0,
						    pin->request.length, dma_get_max_seg_size(map->dev), EMUGPU_GFP);

	if (err)
		return err;
	err = dma_map_sgtable(map->dev, &map->sgt, map->direction, 0);
	if (err)
		sg_free_table(&map->sgt);
	return err == -ENOMEM ? err : err ? -EIO : 0;
}

static int fill(struct dma_map *map)
{
	struct nvidia_p2p_dma_mapping *mapping = &map->mapping;
	struct scatterlist *sg;
	int i;

	map->hw_address = emugpu_array(map->sgt.nents, sizeof(*mapping->hw_address));
	map->hw_len = emugpu_array(map->sgt.nents, sizeof(*mapping->hw_len));
	if (!map->hw_address || !map->hw_len)
		return -ENOMEM;
	mapping->hw_address = map->hw_address;
	mapping->hw_len = map->hw_len;
	for_each_sgtable_dma_sg(&map->sgt, sg, i) {
		mapping->hw_address[i] = sg_dma_address(sg);
		mapping->hw_len[i] = sg_dma_len(sg);
	}
	mapping->version = NVIDIA_P2P_DMA_MAPPING_VERSION;
	mapping->entries = map->sgt.nents;
	return 0;
}

static int map_and_fill(struct dma_map *map, const struct emugpu_pin *pin)
{
	int err = map_pages(map, pin);

	if (err)
		return err;
	err = fill(map);
	if (err)
		unmap_pages(map);
	return err;
}

static void link_map(struct emugpu_pin *pin, struct dma_map *map)
{
	mutex_lock(&emugpu_map_lock);
	emugpu_map_link(&map->base, pin, &map->mapping);
	mutex_unlock(&emugpu_map_lock);
}

int emugpu_dma_map(struct emugpu_pin *pin, struct device *peer, enum dma_data_direction direction,
		   struct nvidia_p2p_dma_mapping **mapping)
{
	struct dma_map *map;
	int err;

	emugpu_api_assert_held();
	err = emugpu_api_injected_error(EMUGPU_CALL_DMA_MAP_PAGES);
	if (err)
		return err;
	map = kzalloc(sizeof(*map), EMUGPU_GFP);
	if (!map)
		return -ENOMEM;
	map->dev = get_device(peer);
	map->direction = direction;
	err = map_and_fill(map, pin);
	if (err) {
		map_free(map);
		return err;
	}
	link_map(pin, map);
	*mapping = &map->mapping;
	return 0;
}

static void map_end(struct dma_map *map)
{
	emugpu_map_unlink(&map->base);
	unmap_pages(map);
	map_free(map);
}

static struct dma_map *map_find(const struct nvidia_p2p_dma_mapping *mapping)
{
	struct emugpu_map *base = emugpu_map_find(mapping);

	return base ? container_of(base, struct dma_map, base) : NULL;
}

int emugpu_dma_unmap(const struct nvidia_p2p_dma_mapping *mapping)
{
	struct dma_map *map;

	mutex_lock(&emugpu_map_lock);
	map = map_find(mapping);
	if (map)
		map_end(map);
	mutex_unlock(&emugpu_map_lock);
	return map ? 0 : -EINVAL;
}

bool emugpu_dma_unmap_all(struct emugpu_pin *pin)
{
	struct dma_map *map, *next;
	bool any;

	mutex_lock(&emugpu_map_lock);
	any = !list_empty(&pin->maps);
	list_for_each_entry_safe(map, next, &pin->maps, base.node)
		map_end(map);
	mutex_unlock(&emugpu_map_lock);
	return any;
}
