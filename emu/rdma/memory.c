// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include "function.h"
#include "memory.h"

/* ---- extents -------------------------------------------------------------------- */

static void memory_append(struct rdma_memory *m, dma_addr_t bus, u64 length)
{
	struct rdma_extent *last = m->count ? &m->extents[m->count - 1] : NULL;
	u64 begin = last ? last->end : 0, of_last = m->count > 1 ? begin - last[-1].end : begin;

	if (!last || last->bus + of_last != bus) {
		last = &m->extents[m->count++];
		last->bus = bus;
	}
	last->end = begin + length;
}

int rdma_memory_fill(struct rdma_memory *m, struct sg_table *sgt, u64 skip, u64 length)
{
	struct scatterlist *sg;
	u64 left = length, here;
	unsigned int i;

	m->extents = kvcalloc(sgt->nents, sizeof(*m->extents), GFP_KERNEL);
	if (!m->extents)
		return -ENOMEM;
	m->length = length;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!rdma_function_addresses(m->function, sg_dma_address(sg), sg_dma_len(sg)))
			return -EIO;
		if (skip < sg_dma_len(sg)) {
			here = min(left, sg_dma_len(sg) - skip);
			memory_append(m, sg_dma_address(sg) + skip, here);
			left -= here;
			skip = 0;
			if (!left)
				return 0;
		} else {
			skip -= sg_dma_len(sg);
		}
	}
	return left ? -EINVAL : 0;
}

/* The extent with the byte @offset: the first one that ends after it */
static const struct rdma_extent *memory_extent(const struct rdma_memory *m, u64 offset)
{
	unsigned int low = 0, high = m->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (m->extents[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return &m->extents[low];
}

static dma_addr_t memory_bus(const struct rdma_memory *m, const struct rdma_extent *e, u64 offset)
{
	return e->bus + (offset - (e == m->extents ? 0 : e[-1].end));
}

/* ---- DMA ------------------------------------------------------------------------ */

static bool memory_has(const struct rdma_memory *m, u64 offset, u64 length)
{
	return m->valid && offset <= m->length && length <= m->length - offset;
}

static int memory_copy_locked(struct rdma_memory *m, u64 offset, void *buffer, u32 length, bool to_memory)
{
	const struct rdma_extent *e;
	u32 here;
	int ret;

	if (!memory_has(m, offset, length))
		return -EFAULT;
	for (e = memory_extent(m, offset); length; length -= here) {
		here = min_t(u64, length, e->end - offset);
		here = min_t(u32, here, RDMA_COPY_MAX);
		if (to_memory)
			ret = rdma_function_write(m->function, memory_bus(m, e, offset), buffer, here);
		else
			ret = rdma_function_read(m->function, buffer, memory_bus(m, e, offset), here);
		if (ret)
			return -EFAULT;
		offset += here;
		buffer += here;
		if (offset == e->end)
			e++;
	}
	return 0;
}

int rdma_memory_copy(struct rdma_memory *m, u64 offset, void *buffer, u32 length, bool to_memory)
{
	int ret;

	rdma_function_lock(m->function);
	ret = memory_copy_locked(m, offset, buffer, length, to_memory);
	rdma_function_unlock(m->function);
	return ret;
}

int rdma_memory_atomic(struct rdma_memory *m, u64 offset, bool add, u64 compare, u64 new, u64 *old)
{
	int ret;

	rdma_function_lock(m->function);
	ret = memory_copy_locked(m, offset, old, sizeof(*old), false);
	if (!ret && (add || *old == compare)) {
		new += add ? *old : 0;
		ret = memory_copy_locked(m, offset, &new, sizeof(new), true);
	}
	rdma_function_unlock(m->function);
	return ret;
}

/* ---- the end -------------------------------------------------------------------- */

void rdma_memory_invalidate(struct rdma_memory *m)
{
	rdma_function_lock(m->function);
	m->valid = false;
	rdma_function_unlock(m->function);
}

void rdma_memory_free(struct rdma_memory *m)
{
	struct rdma_extent *extents;

	if (!m)
		return;
	extents = m->extents;
	rdma_memory_invalidate(m);
	m->release(m);
	kvfree(extents);
}
