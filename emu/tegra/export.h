/* SPDX-License-Identifier: GPL-2.0 */
/* Tegra's driver exports no dma-bufs of CUDA memory: nv-p2p.h is the only interface for peers. */
#ifndef _EMUGPU_EXPORT_H
#define _EMUGPU_EXPORT_H

#include <linux/err.h>
#include <linux/list.h>
#include <linux/types.h>

struct dma_buf;
struct emugpu_export;
struct seq_file;

static inline struct dma_buf *emugpu_export(struct emugpu_export *export)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void emugpu_export_finish(const struct emugpu_export *export, struct dma_buf *dmabuf, bool told)
{
}

static inline void emugpu_export_end(struct list_head *exports, struct list_head *ended)
{
}

static inline void emugpu_export_notify(struct list_head *ended)
{
}

static inline u32 emugpu_imports_count(void)
{
	return 0;
}

static inline u32 emugpu_imports_notified(void)
{
	return 0;
}

static inline void emugpu_imports_show(struct seq_file *seq)
{
}

#endif
