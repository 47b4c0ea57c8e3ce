/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The page table of a pin, in the form of nv-p2p.h, and its share of BAR1. API lock
 * held.
 */
#ifndef _EMUGPU_TABLE_H
#define _EMUGPU_TABLE_H

#include <linux/types.h>

struct emugpu_pin;

/* Fills pin->table and takes BAR1 space; 0, -EINVAL: unaligned, -ENOMEM */
int emugpu_table_open(struct emugpu_pin *pin);
void emugpu_table_close(struct emugpu_pin *pin);

/* Number of entries, from the request: not table->entries, which the consumer can overwrite. No lock needed. */
u32 emugpu_table_nr_pages(const struct emugpu_pin *pin);

/*
 * Called before the callback of a revoked pin: whether its MMU notifier stays, so that
 * the consumer must release it by a put. @process_gone: the process has ended; else
 * the memory was freed. Map lock held.
 */
bool emugpu_table_keeps_notifier(struct emugpu_pin *pin, bool process_gone);

/* Fills the table with poison; map lock held. */
void emugpu_table_poison(struct emugpu_pin *pin);

#endif
