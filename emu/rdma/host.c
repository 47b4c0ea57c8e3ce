// SPDX-License-Identifier: GPL-2.0
/* Host memory. Soft-RoCE maps a umem for no device, so its list is free for the function's addresses. */
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include "function.h"
#include "memory.h"

struct host_memory {
	struct rdma_memory memory;
	struct sg_table *sgt;
};

static void host_release(struct rdma_memory *m)
{
	struct host_memory *h = container_of(m, struct host_memory, memory);

	dma_unmap_sgtable(rdma_function_device(m->function), h->sgt, DMA_BIDIRECTIONAL, 0);
	kfree(h);
}

struct rdma_memory *rdma_memory_host(struct rdma_function *f, struct ib_umem *umem, u64 start, u64 length)
{
	struct host_memory *h = kzalloc(sizeof(*h), GFP_KERNEL);
	int ret;

	if (!h)
		return ERR_PTR(-ENOMEM);
	h->memory.function = f;
	h->memory.release = host_release;
	h->sgt = &umem->sgt_append.sgt;
	ret = dma_map_sgtable(rdma_function_device(f), h->sgt, DMA_BIDIRECTIONAL, 0);
	if (ret) {
		kfree(h);
		return ERR_PTR(ret);
	}
	ret = rdma_memory_fill(&h->memory, h->sgt, offset_in_page(start), length);
	if (ret) {
		rdma_memory_free(&h->memory);
		return ERR_PTR(ret);
	}
	h->memory.valid = true;
	return &h->memory;
}
