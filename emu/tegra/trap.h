/* SPDX-License-Identifier: GPL-2.0 */
/* No traps here: the consumer owns and frees the page table. */
#ifndef _EMUGPU_TRAP_H
#define _EMUGPU_TRAP_H

#include <linux/types.h>

struct nvidia_p2p_page_table;

static inline void emugpu_trap_enable(bool on)
{
}

static inline size_t emugpu_trap_room(size_t size)
{
	return size;
}

static inline void emugpu_trap_set(const struct nvidia_p2p_page_table *table)
{
}

static inline void emugpu_trap_drop(const struct nvidia_p2p_page_table *table)
{
}

#endif
