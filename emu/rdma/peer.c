// SPDX-License-Identifier: GPL-2.0
/* Memory of a client of the InfiniBand core: MLNX_OFED's peer memory, here of ib_peer_shim */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include "../peer_mem/core.h"
#include "function.h"
#include "memory.h"

enum { SLICE_MS = 10 };

static unsigned int register_ms;
module_param(register_ms, uint, 0644);
MODULE_PARM_DESC(register_ms, "milliseconds that each registration of peer memory takes (default 0)");

struct peer_memory {
	struct rdma_memory memory;
	struct shim_umem *umem;
};

static void peer_release(struct rdma_memory *m)
{
	struct peer_memory *p = container_of(m, struct peer_memory, memory);

	ib_peer_umem_release(p->umem);
	kfree(p);
}

static void peer_invalidated(void *context)
{
	struct peer_memory *p = context;

	rdma_memory_invalidate(&p->memory);
}

/* Sleeps in slices: if the host suspends the whole VM, only one slice is lost. */
static void wait_for_firmware(void)
{
	unsigned int ms;

	for (ms = 0; ms < READ_ONCE(register_ms); ms += SLICE_MS)
		usleep_range(SLICE_MS * USEC_PER_MSEC, SLICE_MS * USEC_PER_MSEC + 500);
}

struct rdma_memory *rdma_memory_peer(struct rdma_function *f, u64 start, u64 length)
{
	/* reclaimable, as EMUGPU_GFP: not the memory that the client has just freed */
	struct peer_memory *p = kzalloc(sizeof(*p), GFP_KERNEL | __GFP_RECLAIMABLE);
	int ret;

	if (!p)
		return ERR_PTR(-ENOMEM);
	p->memory.function = f;
	p->memory.release = peer_release;
	p->umem = ib_peer_umem_get(rdma_function_device(f), start, length);
	if (IS_ERR(p->umem)) {
		ret = PTR_ERR(p->umem);
		kfree(p);
		return ERR_PTR(ret);
	}
	ret = rdma_memory_fill(&p->memory, ib_peer_umem_table(p->umem), offset_in_page(start), length);
	if (ret) {
		rdma_memory_free(&p->memory);
		return ERR_PTR(ret);
	}
	wait_for_firmware();
	p->memory.valid = true;
	ib_peer_umem_activate(p->umem, peer_invalidated, p);
	return &p->memory;
}
