/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traps: hardware watchpoints on page tables that a consumer must not use. A trapped access is a violation by the
 * accessing module. A processor has four watchpoints, so the traps watch at most two words of the last two tables. All
 * functions but emugpu_trap_room() may sleep and take their own lock.
 */
#ifndef _EMUGPU_TRAP_H
#define _EMUGPU_TRAP_H

#include <linux/types.h>

struct nvidia_p2p_page_table;

/* Without @on, removes all traps. */
void emugpu_trap_enable(bool on);

/*
 * Bytes to allocate for a table of @size bytes: a whole page if traps are on. QEMU 7.2 checks an unaligned store also
 * against watchpoints at lower addresses of the page. So no other object may share the page of a watched table.
 */
size_t emugpu_trap_room(size_t size);

/* Watches the table of a pin that has ended. */
void emugpu_trap_set(const struct nvidia_p2p_page_table *table);

/* Watches pages[] of a live table that the consumer must refuse because of its version. */
void emugpu_trap_set_incompatible(const struct nvidia_p2p_page_table *table);

/* Call before @table is freed. NULL: does nothing. */
void emugpu_trap_drop(const struct nvidia_p2p_page_table *table);

#endif
