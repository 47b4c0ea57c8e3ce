/* SPDX-License-Identifier: GPL-2.0 */
/* The driver of Tegra makes no dma-bufs of CUDA memory: peers have nv-p2p.h alone. */
#ifndef _EMUGPU_EXPORT_H
#define _EMUGPU_EXPORT_H

#include <linux/errno.h>
#include <linux/list.h>

struct emugpu_client;
struct emugpu_export;

static inline int emugpu_export(struct emugpu_client *client, struct emugpu_export *export)
{
	return -EOPNOTSUPP;
}

static inline void emugpu_export_end(struct list_head *exports, struct list_head *ended)
{
}

static inline void emugpu_export_notify(struct list_head *ended)
{
}

#endif
