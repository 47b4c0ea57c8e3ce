// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "../include/emugpu.h"
#include "api.h"
#include "compat.h"
#include "dma.h"
#include "gpu.h"
#include "map.h"
#include "memory.h"
#include "pin.h"
#include "poison.h"
#include "route.h"
#include "slab.h"
#include "table.h"

/* The CPU caches no BAR: nothing to sync. SKIP_CPU_SYNC also lets DMA API debugging accept overlapping mappings. */
#define MAP_ATTRS (DMA_ATTR_SKIP_CPU_SYNC | DMA_ATTR_MMIO)

struct dma_map {
	struct emugpu_map base;
	struct nvidia_p2p_dma_mapping mapping;	/* for the consumer, which can write to it; never read */
	void *shown;			/* copy of mapping.dma_addresses, for kvfree() */
	struct pci_dev *peer;
	dma_addr_t *addresses;
	u32 entries;			/* number of mapped addresses */
	bool freed;			/* the consumer has called free_dma_mapping; map lock */
	bool undone;			/* already unmapped, so the consumer may only free the mapping; map lock */
};

static void unmap_pages(struct dma_map *map)
{
	for (; map->entries; cond_resched())
		dma_unmap_phys(&map->peer->dev, map->addresses[--map->entries], EMUGPU_PAGE_SIZE, DMA_BIDIRECTIONAL,
			       MAP_ATTRS);
}

/*
 * Physical address of the page at pages[i]. Reads pages[], because the consumer may have sorted the array.
 * Trusts nothing else that the consumer can write to. Returns -EINVAL if pages[i] points to no page
 * of the pin.
 */
static int page_phys(const struct emugpu_pin *pin, u32 i, phys_addr_t *phys)
{
	struct nvidia_p2p_page *const *pages = pin->pages;
	unsigned long offset = (unsigned long)READ_ONCE(pages[i]) - (unsigned long)pin->array;
	unsigned long nth = offset / sizeof(*pin->array);

	if (offset % sizeof(*pin->array) || nth >= emugpu_table_nr_pages(pin))
		return -EINVAL;
	*phys = emugpu_gpu_page_phys(pin->memory->gpu, pin->memory->pages[pin->offset / EMUGPU_PAGE_SIZE + nth]);
	return 0;
}

static int map_page(struct dma_map *map, const struct emugpu_pin *pin)
{
	struct device *dev = &map->peer->dev;
	phys_addr_t phys;
	dma_addr_t addr;
	int err = page_phys(pin, map->entries, &phys);

	if (err)
		return err;
	addr = dma_map_phys(dev, phys, EMUGPU_PAGE_SIZE, DMA_BIDIRECTIONAL, MAP_ATTRS);
	if (dma_mapping_error(dev, addr))
		return -EIO;
	map->addresses[map->entries++] = addr;
	return 0;
}

/* Maps each page separately, even adjacent ones, as NVIDIA's driver does. */
static int map_pages(struct dma_map *map, const struct emugpu_pin *pin)
{
	int err = 0;

	for (; map->entries < emugpu_table_nr_pages(pin) && !err; cond_resched())
		err = map_page(map, pin);
	if (err)
		unmap_pages(map);
	return err;
}

static void map_show(struct dma_map *map)
{
	memcpy(map->shown, map->addresses, map->entries * sizeof(*map->addresses));
	map->mapping = (struct nvidia_p2p_dma_mapping){
		.version = NVIDIA_P2P_DMA_MAPPING_VERSION,
		.page_size_type = NVIDIA_P2P_PAGE_SIZE_64KB,
		.entries = map->entries,
		.dma_addresses = map->shown,
		.pci_dev = map->peer,
	};
}

/* Poisons the mapping, so that a consumer that still uses it fails. */
static void map_empty(struct dma_map *map)
{
	pci_dev_put(map->peer);
	kvfree(map->addresses);
	kvfree(map->shown);
	emugpu_poison(&map->mapping, sizeof(map->mapping));
}

static void map_free(struct dma_map *map)
{
	map_empty(map);
	kfree(map);
}

static struct dma_map *map_new(struct pci_dev *peer, u32 entries)
{
	struct dma_map *map = kzalloc(sizeof(*map), EMUGPU_GFP);

	if (!map)
		return NULL;
	map->peer = pci_dev_get(peer);
	map->addresses = emugpu_array(entries, sizeof(*map->addresses));
	map->shown = emugpu_array(entries, sizeof(*map->addresses));
	if (map->addresses && map->shown)
		return map;
	map_free(map);
	return NULL;
}

int emugpu_dma_map(struct emugpu_pin *pin, struct pci_dev *peer, struct nvidia_p2p_dma_mapping **mapping)
{
	struct dma_map *map;
	int err;

	emugpu_api_assert_held();
	if (pin->request.force_bar1)	/* for the CPU only */
		return -ENOTSUPP;
	if (pin->memory->gpu->gone)
		return -EIO;
	if (!emugpu_route_is_supported(pin->memory->gpu, &peer->dev))
		return -ENOTSUPP;
	err = emugpu_api_injected_error(EMUGPU_CALL_DMA_MAP_PAGES);
	if (err)
		return err;
	map = map_new(peer, emugpu_table_nr_pages(pin));
	if (!map)
		return -ENOMEM;
	err = map_pages(map, pin);
	if (err) {
		map_free(map);
		return err;
	}
	map_show(map);
	*mapping = &map->mapping;
	mutex_lock(&emugpu_map_lock);
	emugpu_map_link(&map->base, pin, &map->mapping);
	mutex_unlock(&emugpu_map_lock);
	return 0;
}

static struct dma_map *map_find(const struct nvidia_p2p_dma_mapping *mapping)
{
	struct emugpu_map *base = emugpu_map_find(mapping);

	return base ? container_of(base, struct dma_map, base) : NULL;
}

static void map_end(struct dma_map *map)
{
	emugpu_map_unlink(&map->base);
	unmap_pages(map);
	map_free(map);
}

enum emugpu_rule emugpu_dma_unmap(struct emugpu_pin *pin, struct pci_dev *peer, struct nvidia_p2p_dma_mapping *mapping)
{
	struct dma_map *map = map_find(mapping);
	enum emugpu_rule rule = EMUGPU_RULES;

	if (!map || map->base.pin != pin || map->undone)
		return EMUGPU_RULE_UNMAP_OF_DEAD_MAPPING;
	if (map->peer != peer)
		rule = EMUGPU_RULE_UNMAP_WRONG_PEER;
	map_end(map);
	return rule;
}

/* A call before the callback does not end the mapping: in present NVIDIA drivers such a call does nothing. */
void emugpu_dma_free(struct nvidia_p2p_dma_mapping *mapping, const void *caller)
{
	struct dma_map *map;

	if (emugpu_violation_of_pointer(mapping, caller))
		return;
	mutex_lock(&emugpu_map_lock);
	map = map_find(mapping);
	if (!map || map->freed)
		emugpu_pin_violation(EMUGPU_RULE_FREE_OF_DEAD_MAPPING, map ? map->base.pin : NULL, caller);
	if (map && map->base.pin->called_back)
		map->freed = true;
	mutex_unlock(&emugpu_map_lock);
}

static void map_undo(struct dma_map *map)
{
	unmap_pages(map);
	map_empty(map);
	map->undone = true;
}

/*
 * After the callback, keeps the records of the mappings, because the consumer may still free the
 * mappings. A callback that overtakes dma_map_pages cannot know the mapping, hence cannot free it.
 */
bool emugpu_dma_unmap_all(struct emugpu_pin *pin)
{
	struct dma_map *map, *next;
	bool forgotten;

	mutex_lock(&emugpu_map_lock);
	forgotten = !pin->called_back && !list_empty(&pin->maps);
	list_for_each_entry_safe(map, next, &pin->maps, base.node)
		if (pin->called_back)
			map_undo(map);
		else
			map_end(map);
	mutex_unlock(&emugpu_map_lock);
	return forgotten;
}

bool emugpu_dma_is_owed(const struct emugpu_pin *pin)
{
	const struct dma_map *map;

	lockdep_assert_held(&emugpu_map_lock);
	list_for_each_entry(map, &pin->maps, base.node)
		if (!map->freed)
			return true;
	return false;
}

bool emugpu_dma_forget(struct emugpu_pin *pin)
{
	struct dma_map *map, *next;
	bool forgotten = false;

	lockdep_assert_held(&emugpu_map_lock);
	list_for_each_entry_safe(map, next, &pin->maps, base.node) {
		forgotten |= !map->freed;
		emugpu_map_unlink(&map->base);
		kfree(map);
	}
	return forgotten;
}
