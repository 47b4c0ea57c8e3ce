/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pin: the result of one get_pages call, with the page table that its consumer sees.
 *
 * A revocable pin belongs to a block and ends at the latest with the block. A persistent pin holds
 * a reference to the memory and ends when its consumer puts the pin.
 *
 * A pin that has ended becomes a tombstone (tombstone.h). Each live pin holds a reference to this
 * module, so this module cannot be unloaded.
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
	EMUGPU_PIN_FAILED,	/* get_pages failed after storing the pointer to the table */
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
	struct nvidia_p2p_page_table *table;	/* the page table; NULL: the consumer owns and frees the table */
	void *pages;			/* copy of table->pages, for kvfree(): the consumer can write to @table */
	struct nvidia_p2p_page *array;	/* the entries that pages[] points to; NULL on integrated GPUs */
	u8 uuid[16];
	struct emugpu_pin_request request;
	char consumer[EMUGPU_MODULE_LEN];
	enum emugpu_pin_state state;	/* writers: API lock and map lock; readers: either lock */
	bool called_back;		/* the callback has started; map lock */
	bool known;			/* the callback certainly had the address @table; map lock */
	bool table_freed;		/* the consumer has called free_page_table; map lock */
	bool keeps_notifier;		/* a put must still release the MMU notifier (table.h); map lock */
	const void *due;		/* address of the freed table until the put for @keeps_notifier; map lock */
	u64 burial;			/* serial number of the pin's end: 1 for the first pin that ended; map lock */
	struct hlist_node hash;		/* entry in the hash of pins, by @table; locks as for @state */
	struct list_head node;		/* entry of a live pin: API lock; entry of a tombstone: map lock */
	struct list_head maps;		/* DMA mappings; map lock */
	struct emugpu_block *block;	/* block of a revocable pin, valid while LIVE; NULL: persistent; API lock */
	struct emugpu_memory *memory;	/* the pinned memory, with a reference while LIVE */
	u64 offset;			/* start of the pin in @memory, bytes */
	struct pid *process;		/* the process that called get_pages */
};

/* The map lock protects the DMA mappings of all pins. Order: API lock -> map lock. */
extern struct mutex emugpu_map_lock;

struct emugpu_pin *emugpu_pin_new(const struct emugpu_pin_request *request);

static inline bool emugpu_pin_is_persistent(const struct emugpu_pin *pin)
{
	return !pin->request.callback;
}

/* API lock held here and below, unless stated otherwise. A pin that cannot be opened becomes a tombstone. */
int emugpu_pin_open(struct emugpu_pin *pin);
void emugpu_pin_put(struct emugpu_pin *pin);
void emugpu_pin_revoke(struct emugpu_pin *pin);

/* Whether @p2p_token is the pin's token. If both are 0: whether the calling process owns the memory. */
bool emugpu_pin_is_mine(const struct emugpu_pin *pin, u64 p2p_token);

/* The live pin of exactly @length bytes at @va, or NULL if not found */
struct emugpu_pin *emugpu_pin_of_range(struct emugpu_block *block, u64 va, u64 length);

/* Counts the live pins of @gpu and their DMA mappings. */
void emugpu_pin_count(const struct emugpu_gpu *gpu, u32 *pins, u32 *maps);

/* Calls @fn for each live pin until @fn returns nonzero. Returns that result, or 0. */
int emugpu_pin_each(int (*fn)(const struct emugpu_pin *pin, void *data), void *data);

/* The live pin or tombstone of a table, or NULL if not found. API lock or map lock held. */
struct emugpu_pin *emugpu_pin_find(const struct nvidia_p2p_page_table *table);

/*
 * Integrated GPUs only. At the end of a process the consumer frees the table in the callback, but
 * must then put the table once, to release the MMU notifier. Records this put. Returns false if no
 * put of @table is due.
 */
bool emugpu_pin_end_due(const struct nvidia_p2p_page_table *table);

/*
 * Watches @table if its pin was revoked. Only two dead tables are watched at a time, and tables of pins that were
 * revoked later may have displaced @table. @table may be any pointer.
 */
void emugpu_pin_watch_table(const struct nvidia_p2p_page_table *table);

/* Reports a violation by the consumer of @pin (NULL: by the module at @caller). API lock or map lock held. */
void emugpu_pin_violation(enum emugpu_rule rule, const struct emugpu_pin *pin, const void *caller);

/* Executes free_page_table, which consumers call in their callback. Takes only the map lock. */
void emugpu_pin_free_table(const struct nvidia_p2p_page_table *table, const void *caller);

/* Prints a line per live pin. Takes the API lock itself. */
void emugpu_pin_show(struct seq_file *seq);

/* Called when @module is unloaded: ends its pins and frees its tombstones. Takes the API lock itself. */
void emugpu_pin_module_going(const char *module);

/* Whether the emulator frees the table. On integrated GPUs, the consumer frees the table once the callback runs. */
bool emugpu_pin_owns_table(const struct emugpu_pin *pin);

/* Frees a pin that is in no list any more. Map lock held. */
void emugpu_pin_delete(struct emugpu_pin *pin);

#endif
