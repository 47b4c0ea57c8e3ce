/* SPDX-License-Identifier: GPL-2.0 */
/* Tegra's nv-p2p.h has no rsync drivers. */
#ifndef _EMUGPU_RSYNC_H
#define _EMUGPU_RSYNC_H

static inline int emugpu_rsync_use(void)
{
	return 0;
}

static inline void emugpu_rsync_unuse(void)
{
}

static inline void emugpu_rsync_module_going(const char *module)
{
}

#endif
