/* SPDX-License-Identifier: GPL-2.0 */
/* No guard here: processes may write to the memory at any time. */
#ifndef _EMUGPU_GUARD_H
#define _EMUGPU_GUARD_H

#include <linux/errno.h>
#include <linux/types.h>

struct emugpu_pin;
struct nvidia_p2p_page_table;

static inline int emugpu_guard_set(u32 ms, bool mapped)
{
	return -EOPNOTSUPP;
}

static inline void emugpu_guard_begin(void)
{
}

static inline void emugpu_guard_add(const struct emugpu_pin *pin)
{
}

static inline bool emugpu_guard_has(const struct nvidia_p2p_page_table *table)
{
	return false;
}

static inline void emugpu_guard_look(void)
{
}

#endif
