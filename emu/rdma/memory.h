/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of a memory region (MR), as bus addresses of the adapter's PCI function */
#ifndef EMURDMA_MEMORY_H
#define EMURDMA_MEMORY_H

#include <linux/types.h>

struct ib_umem;
struct rdma_function;
struct sg_table;

/**
 * struct rdma_extent - contiguous bytes
 * @end: offset in the memory of the first byte after the extent
 */
struct rdma_extent {
	u64 end;
	dma_addr_t bus;
};

/**
 * struct rdma_memory - the memory of one MR
 * @valid: the function may use it; under rdma_function_lock()
 * @release: undo the mapping; called once, when the function cannot use the memory any more
 */
struct rdma_memory {
	struct rdma_function *function;
	bool valid;
	u64 length;
	unsigned int count;
	struct rdma_extent *extents;
	void (*release)(struct rdma_memory *m);
};

/*
 * The three ways to map memory. Context: process; may sleep. Return: valid memory, which
 * rdma_memory_free() ends, or ERR_PTR(); -EIO the function does not reach the memory.
 */

/* Host memory that the caller has pinned. @start: address of the first byte. The caller keeps @umem. */
struct rdma_memory *rdma_memory_host(struct rdma_function *f, struct ib_umem *umem, u64 start, u64 length);

/* Memory that a client of the InfiniBand core knows. -ENXIO: no client does */
struct rdma_memory *rdma_memory_peer(struct rdma_function *f, u64 start, u64 length);

/* A dma-buf. @offset: of the first byte */
struct rdma_memory *rdma_memory_dmabuf(struct rdma_function *f, int fd, u64 offset, u64 length);

/*
 * Set the extents: @length bytes of @sgt from byte @skip on. Return: 0; -EINVAL @sgt is too short;
 * -EIO the function does not reach an address; -ENOMEM
 */
int rdma_memory_fill(struct rdma_memory *m, struct sg_table *sgt, u64 skip, u64 length);

/* From the return on, the function does not use the memory. Context: any but hardirq */
void rdma_memory_invalidate(struct rdma_memory *m);

/* Context: process. @m may be NULL. */
void rdma_memory_free(struct rdma_memory *m);

/*
 * Copy from or to @buffer by DMA of the function. Context: process or softirq. Return: 0; -EFAULT the
 * memory was invalidated, the range is outside of it, or the DMA failed
 */
int rdma_memory_copy(struct rdma_memory *m, u64 offset, void *buffer, u32 length, bool to_memory);

/*
 * Read 8 bytes at @offset into @old. With @add, write *@old + @new; else write @new if *@old is @compare.
 * The function makes no other access in between. Return: as rdma_memory_copy()
 */
int rdma_memory_atomic(struct rdma_memory *m, u64 offset, bool add, u64 compare, u64 new, u64 *old);

#endif
