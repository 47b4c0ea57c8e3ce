/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a pin costs and shows: the page table in nv-p2p.h's form, and the BAR1
 * aperture behind it. API lock held.
 */
#ifndef _EMUGPU_TABLE_H
#define _EMUGPU_TABLE_H

#include <linux/types.h>

struct emugpu_pin;

/* Fills pin->table; 0, -EINVAL what cannot be pinned so, -ENOMEM */
int emugpu_table_open(struct emugpu_pin *pin);
void emugpu_table_close(struct emugpu_pin *pin);

/* As many as it was made with; what the table says its consumer can write to. Any lock, or none. */
u32 emugpu_table_nr_pages(const struct emugpu_pin *pin);

/*
 * Before the callback of a pin that goes: whether its MMU notifier is still there
 * after it, for the consumer to give back. Where @process_gone is false the memory
 * was freed. Map lock held.
 */
bool emugpu_table_keeps_notifier(struct emugpu_pin *pin, bool process_gone);

/* Fills the table with rubbish; map lock held. */
void emugpu_table_poison(struct emugpu_pin *pin);

#endif
