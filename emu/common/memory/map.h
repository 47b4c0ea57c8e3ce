/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A map: the record of one DMA mapping of a consumer, for discrete and integrated GPUs. A look-up
 * compares only the address of the consumer's structure, because the consumer may pass a wrong
 * pointer. The map lock (emugpu_map_lock) protects all fields and is held in all functions, unless
 * stated otherwise.
 */
#ifndef _EMUGPU_MAP_H
#define _EMUGPU_MAP_H

#include <linux/list.h>
#include <linux/types.h>

struct emugpu_pin;

struct emugpu_map {
	struct list_head node;		/* in pin->maps */
	struct hlist_node hash;
	struct emugpu_pin *pin;
	const void *mapping;		/* address of the consumer's structure */
};

void emugpu_map_link(struct emugpu_map *map, struct emugpu_pin *pin, const void *mapping);
void emugpu_map_unlink(struct emugpu_map *map);

/* Returns NULL if not found. */
struct emugpu_map *emugpu_map_find(const void *mapping);

/* Number of mappings of a pin; takes the map lock itself. */
u32 emugpu_map_count(const struct emugpu_pin *pin);

#endif
