/* SPDX-License-Identifier: GPL-2.0 */
/* No dma-bufs here, so no moves. */
#ifndef _EMUGPU_MOVE_H
#define _EMUGPU_MOVE_H

#include <linux/errno.h>
#include <linux/types.h>

static inline int emugpu_move_set(u32 ms)
{
	return -EOPNOTSUPP;
}

static inline bool emugpu_move_runs(void)
{
	return false;
}

static inline void emugpu_move_wait(void)
{
}

static inline void emugpu_move_exit(void)
{
}

#endif
