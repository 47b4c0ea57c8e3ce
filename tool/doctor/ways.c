// SPDX-License-Identifier: MIT
#include <string.h>
#include "ways.h"

static enum seen either(enum seen a, enum seen b)
{
	if (a == SEEN_YES || b == SEEN_YES)
		return SEEN_YES;
	return a == SEEN_NO && b == SEEN_NO ? SEEN_NO : SEEN_UNKNOWN;
}

static enum seen both(enum seen a, enum seen b)
{
	if (a == SEEN_NO || b == SEEN_NO)
		return SEEN_NO;
	return a == SEEN_YES && b == SEEN_YES ? SEEN_YES : SEEN_UNKNOWN;
}

/* ---- GPUs ---------------------------------------------------------------------- */

/* Returns the next GPU for which lends_memory() is true, or -1. Start with -1. */
static int next_lender(const struct view *v, int last)
{
	do
		last = next_gpu(v, last);
	while (last >= 0 && !lends_memory(&v->machine.at[last]));
	return last;
}

enum seen exports_dma_bufs(const struct view *v, const struct device *gpu)
{
	const struct gpu_facts *facts = facts_gpu(&v->facts, gpu->name);

	if (!facts || facts->dma_buf < 0)
		return SEEN_UNKNOWN;
	return facts->dma_buf ? SEEN_YES : SEEN_NO;
}

enum seen gpus_export_dma_bufs(const struct view *v)
{
	int i = next_lender(v, -1);
	enum seen all = i < 0 ? SEEN_UNKNOWN : SEEN_YES;

	for (; i >= 0; i = next_lender(v, i))
		all = both(all, exports_dma_bufs(v, &v->machine.at[i]));
	return all;
}

enum seen a_gpu_exports_dma_bufs(const struct view *v)
{
	int i = next_lender(v, -1);
	enum seen any = i < 0 ? SEEN_UNKNOWN : SEEN_NO;

	for (; i >= 0; i = next_lender(v, i))
		any = either(any, exports_dma_bufs(v, &v->machine.at[i]));
	return any;
}

/* ---- RDMA devices ---------------------------------------------------------------- */

/*
 * A driver that can register dma-bufs has the function @symbol in /proc/kallsyms. So no
 * list of versions is needed, and backports are found. @symbol NULL: no version can.
 */
enum seen takes_dma_bufs(const struct view *v, const struct device *rdma)
{
	static const struct {
		const char *driver;
		const char *symbol;
	} rows[] = {
		{ "mlx5_core", "mlx5_ib_reg_user_mr_dmabuf" }, { "ice", "irdma_reg_user_mr_dmabuf" },
		{ "i40e", "irdma_reg_user_mr_dmabuf" },	       { "efa", "efa_reg_user_mr_dmabuf" },
		{ "bnxt_en", "bnxt_re_reg_user_mr_dmabuf" },   { "mana", "mana_ib_reg_user_mr_dmabuf" },
		{ "ionic", "ionic_reg_user_mr_dmabuf" },       { "mlx4_core", NULL },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rdma->driver, rows[i].driver))
			return rows[i].symbol ? facts_symbol(&v->facts, rows[i].symbol) : SEEN_NO;
	return SEEN_UNKNOWN;
}

enum seen peer_memory_loaded(const struct view *v)
{
	return either(module_loaded(v, "nvidia_peermem"), module_loaded(v, "nv_peer_mem"));
}

static bool is_mellanox(const struct device *rdma)
{
	return !strncmp(rdma->driver, "mlx", strlen("mlx"));
}

/* Other vendors' drivers need other peer memory modules, which this check does not know. */
enum seen takes_peer_memory(const struct view *v, const struct device *rdma)
{
	return is_mellanox(rdma) ? peer_memory_loaded(v) : SEEN_UNKNOWN;
}

static enum seen has_way(const struct view *v, const struct device *rdma, enum seen exported)
{
	return either(takes_peer_memory(v, rdma), both(exported, takes_dma_bufs(v, rdma)));
}

enum seen can_register(const struct view *v, const struct device *rdma, const struct device *gpu)
{
	return has_way(v, rdma, exports_dma_bufs(v, gpu));
}

enum seen can_register_all(const struct view *v, const struct device *rdma)
{
	return has_way(v, rdma, gpus_export_dma_bufs(v));
}

enum seen can_register_any(const struct view *v, const struct device *rdma)
{
	return has_way(v, rdma, a_gpu_exports_dma_bufs(v));
}

/* Returns the next RDMA device of Mellanox, or -1. Start with -1. */
static int next_mellanox(const struct view *v, int last)
{
	do
		last = next_peer(v, last);
	while (last >= 0 && !(v->machine.at[last].kind == DEVICE_RDMA && is_mellanox(&v->machine.at[last])));
	return last;
}

bool wants_peer_memory(const struct view *v)
{
	return next_mellanox(v, -1) >= 0;
}

static enum seen all_take(const struct view *v)
{
	enum seen all = SEEN_YES;
	int i;

	for (i = next_mellanox(v, -1); i >= 0; i = next_mellanox(v, i))
		all = both(all, takes_dma_bufs(v, &v->machine.at[i]));
	return all;
}

enum seen dma_bufs_suffice(const struct view *v)
{
	return both(gpus_export_dma_bufs(v), all_take(v));
}

enum seen dma_bufs_help(const struct view *v)
{
	return both(a_gpu_exports_dma_bufs(v), all_take(v));
}
