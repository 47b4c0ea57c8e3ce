/* SPDX-License-Identifier: GPL-2.0 */
/* No stash here: processes may write to the memory at any time. */
#ifndef _EMUGPU_STASH_H
#define _EMUGPU_STASH_H

#include <linux/errno.h>
#include <linux/types.h>

static inline int emugpu_stash_begin(u32 pid)
{
	return -EOPNOTSUPP;
}

static inline int emugpu_stash_end(u32 *changed)
{
	return -EOPNOTSUPP;
}

static inline void emugpu_stash_exit(void)
{
}

#endif
