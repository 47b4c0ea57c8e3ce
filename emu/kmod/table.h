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

/* Fills the table with rubbish; map lock held. */
void emugpu_table_poison(struct emugpu_pin *pin);

#endif
