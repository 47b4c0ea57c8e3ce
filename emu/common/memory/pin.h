/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pin: what one get_pages made, with the page table that its consumer sees.
 *
 * A pin is in one of two manners. Revocable ones belong to a block and end
 * with it; persistent ones hold its memory and end when they are put.
 *
 * A pin that has ended is buried: graves.h. Pins hold the module, so that it
 * cannot be removed from under them.
 */
#ifndef _EMUGPU_PIN_H
#define _EMUGPU_PIN_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <nv-p2p.h>

#include "monitor.h"

struct emugpu_block;
struct emugpu_gpu;
struct emugpu_memory;
struct pid;
struct seq_file;

enum emugpu_pin_state {
	EMUGPU_PIN_LIVE,
	EMUGPU_PIN_PUT,		/* by its consumer */
	EMUGPU_PIN_REVOKED,	/* by the free callback */
	EMUGPU_PIN_FAILED,	/* get_pages failed after it had stored the pointer */
};

/* What get_pages was asked for */
struct emugpu_pin_request {
	u64 p2p_token;
	u32 va_space;
	u64 va;
	u64 length;
	bool force_bar1;
	void (*callback)(void *data);	/* NULL: persistent */
	void *data;
	const void *caller;
};

struct emugpu_pin {
	struct nvidia_p2p_page_table *table;	/* NULL: given away */
	void *pages;			/* what is freed as table->pages, which its consumer can write to */
	struct nvidia_p2p_page *array;	/* what pages[] points into; integrated GPUs have none */
	u8 uuid[16];
	struct emugpu_pin_request request;
	char consumer[EMUGPU_MODULE_LEN];
	enum emugpu_pin_state state;	/* API lock and map lock to write, either to read */
	bool called_back;		/* the callback runs, or has; map lock */
	bool known;			/* its consumer had the table before that: no thread was in get_pages; map lock */
	bool table_freed;		/* by free_page_table; map lock */
	bool keeps_notifier;		/* revoked by its process's end, so its consumer is to put it; map lock */
	const void *due;		/* a table given away that is to be put for that; NULL: none is; map lock */
	u64 burial;			/* its number; map lock */
	struct hlist_node hash;		/* as state */
	struct list_head node;		/* in block->pins or the persistent pins: API lock; in a graveyard: map lock */
	struct list_head maps;		/* map lock */
	struct emugpu_block *block;	/* API lock; NULL: persistent; else valid while LIVE */
	struct emugpu_memory *memory;	/* a reference while LIVE */
	u64 offset;			/* where in the memory it begins, bytes */
	struct pid *process;		/* that called */
};

/* The map lock: DMA mappings of all pins. Taken within the API lock or alone. */
extern struct mutex emugpu_map_lock;

struct emugpu_pin *emugpu_pin_new(const struct emugpu_pin_request *request);

static inline bool emugpu_pin_is_persistent(const struct emugpu_pin *pin)
{
	return !pin->request.callback;
}

/* All below, but where they say otherwise: API lock held. A pin that cannot be opened is buried. */
int emugpu_pin_open(struct emugpu_pin *pin);
void emugpu_pin_put(struct emugpu_pin *pin);
void emugpu_pin_revoke(struct emugpu_pin *pin);

/* True when the calling process owns the pinned memory, or the pin was made with this token */
bool emugpu_pin_is_mine(const struct emugpu_pin *pin, u64 p2p_token);

/* The live pin of that very range, or NULL */
struct emugpu_pin *emugpu_pin_of_range(struct emugpu_block *block, u64 va, u64 length);

/* Live pins of @gpu and their DMA mappings */
void emugpu_pin_count(const struct emugpu_gpu *gpu, u32 *pins, u32 *maps);

/* Calls @fn for the live pins until it returns other than 0, and returns that */
int emugpu_pin_each(int (*fn)(const struct emugpu_pin *pin, void *data), void *data);

/* The pin of a table, dead or alive, or NULL. API lock or map lock held. */
struct emugpu_pin *emugpu_pin_find(const struct nvidia_p2p_page_table *table);

/*
 * On integrated GPUs: the put of a table that its consumer has freed in the callback
 * that came as the process ended. False: none is due.
 */
bool emugpu_pin_end_due(const struct nvidia_p2p_page_table *table);

/* The consumer of @pin, or where that is NULL the module at @caller, broke a rule. One of these locks held. */
void emugpu_pin_violation(enum emugpu_rule rule, const struct emugpu_pin *pin, const void *caller);

/* Takes the map lock itself: what consumers call in their callback. */
void emugpu_pin_free_table(const struct nvidia_p2p_page_table *table, const void *caller);

/* One line a live pin. Takes the API lock itself. */
void emugpu_pin_show(struct seq_file *seq);

/* The module of that name goes: ends the pins it has left, and clears its graves. Takes the API lock itself. */
void emugpu_pin_module_going(const char *module);

/* On integrated GPUs the structure is the consumer's from the callback on, to kfree() after free_page_table. */
bool emugpu_pin_owns_table(const struct emugpu_pin *pin);

/* Out of the hash, and frees it, whose grave is cleared; map lock held */
void emugpu_pin_delete(struct emugpu_pin *pin);

#endif
