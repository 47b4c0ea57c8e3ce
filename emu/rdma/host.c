// SPDX-License-Identifier: GPL-2.0
/* Host memory. Soft-RoCE maps a umem for no device, so its list is free for the function's addresses. */
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include "function.h"
#include "memory.h"

/** struct host_memory - @direction: of the mapping; the function cannot write memory that the caller only reads */
struct host_memory {
	struct rdma_memory memory;
	struct sg_table *sgt;
	enum dma_data_direction direction;
};

static void host_release(struct rdma_memory *m)
{
	struct host_memory *h = container_of(m, struct host_memory, memory);

	dma_unmap_sgtable(rdma_function_device(m->function), h->sgt, h->direction, 0);
	kfree(h);
}

/* The kernel may bounce memory within reach, too: swiotlb=force. */
static int host_map(struct host_memory *h)
{
	struct rdma_function *f = h->memory.function;
	int ret = rdma_function_reaches(f, h->sgt) ? 0 : -EIO;

	if (!ret)
		ret = dma_map_sgtable(rdma_function_device(f), h->sgt, h->direction, 0);
	if (ret || !rdma_function_bounces(f, h->sgt))
		return ret;
	dma_unmap_sgtable(rdma_function_device(f), h->sgt, h->direction, 0);
	return -EIO;
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
	h->direction = umem->writable ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	ret = host_map(h);
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
