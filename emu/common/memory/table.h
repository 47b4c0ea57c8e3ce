/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The page table of a pin, as nv-p2p.h declares it, and the pin's share of BAR1. API lock held,
 * unless stated otherwise.
 */
#ifndef _EMUGPU_TABLE_H
#define _EMUGPU_TABLE_H

#include <linux/types.h>

struct emugpu_pin;

/* Fills pin->table and takes BAR1 space. Errors: -EINVAL: address or length is unaligned; -ENOMEM. */
int emugpu_table_open(struct emugpu_pin *pin);
void emugpu_table_close(struct emugpu_pin *pin);

/* Number of entries, computed from the request: the consumer can overwrite table->entries. No lock needed. */
u32 emugpu_table_nr_pages(const struct emugpu_pin *pin);

/*
 * Called before the callback of a revoked pin. Returns whether the pin's MMU notifier stays: then
 * the consumer must put the pin, to release the notifier. @process_gone: the process has ended;
 * else the memory was freed. Map lock held.
 */
bool emugpu_table_keeps_notifier(struct emugpu_pin *pin, bool process_gone);

/* Fills the table with poison; map lock held. */
void emugpu_table_poison(struct emugpu_pin *pin);

#endif
