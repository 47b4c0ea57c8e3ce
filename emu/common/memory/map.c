// SPDX-License-Identifier: GPL-2.0
#include <linux/hashtable.h>
#include <linux/lockdep.h>

#include "map.h"
#include "pin.h"

enum { HASH_BITS = 8 };

static DEFINE_HASHTABLE(maps, HASH_BITS);

void emugpu_map_link(struct emugpu_map *map, struct emugpu_pin *pin, const void *mapping)
{
	lockdep_assert_held(&emugpu_map_lock);
	map->pin = pin;
	map->mapping = mapping;
	list_add_tail(&map->node, &pin->maps);
	hash_add(maps, &map->hash, (unsigned long)mapping);
}

void emugpu_map_unlink(struct emugpu_map *map)
{
	lockdep_assert_held(&emugpu_map_lock);
	list_del(&map->node);
	hash_del(&map->hash);
}

struct emugpu_map *emugpu_map_find(const void *mapping)
{
	struct emugpu_map *map;

	lockdep_assert_held(&emugpu_map_lock);
	hash_for_each_possible(maps, map, hash, (unsigned long)mapping)
		if (map->mapping == mapping)
			return map;
	return NULL;
}

u32 emugpu_map_count(const struct emugpu_pin *pin)
{
	struct list_head *node;
	u32 n = 0;

	mutex_lock(&emugpu_map_lock);
	list_for_each(node, &pin->maps)
		n++;
	mutex_unlock(&emugpu_map_lock);
	return n;
}
