/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pin: the result of one get_pages call, with the page table that its consumer sees.
 *
 * A revocable pin belongs to a block and ends with it at the latest. A persistent pin
 * holds a reference to the memory and ends when it is put.
 *
 * A pin that has ended becomes a tombstone: tombstone.h. Pins hold references to the
 * module, so that it cannot be removed before them.
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
	EMUGPU_PIN_PUT,		/* put by its consumer */
	EMUGPU_PIN_REVOKED,	/* ended by a revocation, after the free callback */
	EMUGPU_PIN_FAILED,	/* get_pages failed after it had stored the pointer */
};

/* The arguments of get_pages */
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
	struct nvidia_p2p_page_table *table;	/* NULL: the consumer owns and frees it */
	void *pages;			/* copy of table->pages for kvfree(): the consumer can write to the table */
	struct nvidia_p2p_page *array;	/* the entries that pages[] points to; NULL on integrated GPUs */
	u8 uuid[16];
	struct emugpu_pin_request request;
	char consumer[EMUGPU_MODULE_LEN];
	enum emugpu_pin_state state;	/* API lock and map lock to write, either to read */
	bool called_back;		/* the callback has started; map lock */
	bool known;			/* the consumer knew the table then: no thread was in get_pages; map lock */
	bool table_freed;		/* by free_page_table; map lock */
	bool keeps_notifier;		/* revoked by the process's end: a put must release the MMU notifier; map lock */
	const void *due;		/* @keeps_notifier: address of the table until it is put, else NULL; map lock */
	u64 burial;			/* number of its burial; map lock */
	struct hlist_node hash;		/* locks of @state */
	struct list_head node;		/* in block->pins or persistent_pins: API lock; in a graveyard: map lock */
	struct list_head maps;		/* map lock */
	struct emugpu_block *block;	/* API lock; NULL: persistent; else valid while LIVE */
	struct emugpu_memory *memory;	/* a reference while LIVE */
	u64 offset;			/* start in the memory, in bytes */
	struct pid *process;		/* the process that called get_pages */
};

/* The map lock protects the DMA mappings of all pins. Order: API lock -> map lock. */
extern struct mutex emugpu_map_lock;

struct emugpu_pin *emugpu_pin_new(const struct emugpu_pin_request *request);

static inline bool emugpu_pin_is_persistent(const struct emugpu_pin *pin)
{
	return !pin->request.callback;
}

/* These and all below: API lock held, unless stated otherwise. A pin that cannot be opened becomes a tombstone. */
int emugpu_pin_open(struct emugpu_pin *pin);
void emugpu_pin_put(struct emugpu_pin *pin);
void emugpu_pin_revoke(struct emugpu_pin *pin);

/* Whether the calling process owns the pinned memory, or the pin was made with this token */
bool emugpu_pin_is_mine(const struct emugpu_pin *pin, u64 p2p_token);

/* The live pin of exactly that range, or NULL if not found */
struct emugpu_pin *emugpu_pin_of_range(struct emugpu_block *block, u64 va, u64 length);

/* Counts the live pins of @gpu and their DMA mappings. */
void emugpu_pin_count(const struct emugpu_gpu *gpu, u32 *pins, u32 *maps);

/* Calls @fn for each live pin until it returns nonzero; returns that value. */
int emugpu_pin_each(int (*fn)(const struct emugpu_pin *pin, void *data), void *data);

/* The live pin or tombstone of a table, or NULL if not found. API lock or map lock held. */
struct emugpu_pin *emugpu_pin_find(const struct nvidia_p2p_page_table *table);

/*
 * Integrated GPUs only: the one allowed put of a table that the consumer has freed in the
 * callback at the process's end; it releases the MMU notifier. Returns false if none is due.
 */
bool emugpu_pin_end_due(const struct nvidia_p2p_page_table *table);

/* Reports a violation by the consumer of @pin, or by the module at @caller if NULL. API lock or map lock held. */
void emugpu_pin_violation(enum emugpu_rule rule, const struct emugpu_pin *pin, const void *caller);

/* Called by consumers in their callback; takes only the map lock. */
void emugpu_pin_free_table(const struct nvidia_p2p_page_table *table, const void *caller);

/* Prints a line per live pin. Takes the API lock itself. */
void emugpu_pin_show(struct seq_file *seq);

/* @module is unloaded: ends the pins it has left and frees its tombstones. Takes the API lock itself. */
void emugpu_pin_module_going(const char *module);

/* False from the callback on for integrated GPUs: the consumer calls kfree() for the table after free_page_table. */
bool emugpu_pin_owns_table(const struct emugpu_pin *pin);

/* Frees a pin that is in no list any more; map lock held. */
void emugpu_pin_delete(struct emugpu_pin *pin);

#endif
