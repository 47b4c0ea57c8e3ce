/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pin: what one get_pages made, with the page table that its consumer sees.
 *
 * A pin that has ended is buried, not freed: its table is filled with 0x6b and
 * stays findable for the next two thousand endings of its kind. A consumer that
 * reads the table too late thus reads rubbish every time, and a put that lost
 * the race against the free callback (allowed) can be told from a second put.
 */
#ifndef _EMUGPU_PIN_H
#define _EMUGPU_PIN_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <nv-p2p.h>

struct emugpu_block;

enum emugpu_pin_state {
	EMUGPU_PIN_LIVE,
	EMUGPU_PIN_PUT,		/* by its consumer */
	EMUGPU_PIN_REVOKED,	/* by the free callback */
	EMUGPU_PIN_FAILED,	/* get_pages failed after it had stored the pointer */
};

struct emugpu_pin {
	struct nvidia_p2p_page_table table;
	u8 uuid[NVIDIA_P2P_GPU_UUID_LEN];
	enum emugpu_pin_state state;	/* API lock and map lock to write, either to read */
	struct hlist_node hash;		/* the same */
	struct list_head node;		/* in block->pins or a graveyard; API lock */
	struct list_head maps;		/* map lock */
	struct emugpu_block *block;	/* API lock; valid while LIVE */
	u32 first;			/* page of the block it begins with */
	u64 va;
	u64 length;
	void (*callback)(void *data);
	void *data;
};

/* The map lock: DMA mappings of all pins. Taken within the API lock or alone. */
extern struct mutex emugpu_map_lock;

struct emugpu_pin *emugpu_pin_new(u64 va, u64 length, void (*callback)(void *data), void *data);

/* All below: API lock held. A pin that cannot be opened is buried. */
int emugpu_pin_open(struct emugpu_pin *pin);
void emugpu_pin_put(struct emugpu_pin *pin);
void emugpu_pin_revoke(struct emugpu_pin *pin);

/* The pin of a table, dead or alive, or NULL. API lock or map lock held. */
struct emugpu_pin *emugpu_pin_find(const struct nvidia_p2p_page_table *table);

/* True when the calling process owns the pinned memory. */
bool emugpu_pin_is_mine(const struct emugpu_pin *pin);

/* Makes the @nth get_pages from now on fail with @error; 0: none. */
void emugpu_pin_fail_nth(u32 nth, int error);

/* Frees the graveyard, at unload. */
void emugpu_pin_exit(void);

#endif
