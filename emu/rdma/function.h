/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The PCI function of an emulated RDMA adapter: an LSI 53C810 of QEMU. Its copy engine is the only way
 * in which the adapter reaches registered memory.
 */
#ifndef EMURDMA_FUNCTION_H
#define EMURDMA_FUNCTION_H

#include <linux/types.h>

struct device;
struct ib_device;
struct rdma_function;
struct sg_table;

/*
 * Reserve a function that no adapter has, for @adapter, and make it the parent of @adapter in sysfs.
 * Return: NULL if there is none. rdma_function_release() must follow.
 */
struct rdma_function *rdma_function_claim(struct ib_device *adapter);

/* Context: process. @f may be NULL. No memory is mapped for the function any more. */
void rdma_function_release(struct rdma_function *f);

/* The function of an adapter; NULL if it has none. Valid until its release. */
struct rdma_function *rdma_function_of(struct ib_device *adapter);

/* The device to map memory for. Its DMA mask has 32 bits. */
struct device *rdma_function_device(struct rdma_function *f);

/*
 * The kernel maps memory out of reach to bounce buffers: copies, which only the calls that map and unmap
 * keep equal to the memory. Test pages before they are mapped, and addresses that an exporter has mapped.
 */
bool rdma_function_reaches(const struct rdma_function *f, struct sg_table *sgt);
bool rdma_function_bounces(const struct rdma_function *f, struct sg_table *sgt);

/* Whether the function has enough address bits. A client or an exporter may give any bus addresses. */
bool rdma_function_addresses(const struct rdma_function *f, dma_addr_t bus, u64 length);

/* Serialise DMA of the function. Disables bottom halves. Context: process or softirq */
void rdma_function_lock(struct rdma_function *f);
void rdma_function_unlock(struct rdma_function *f);

enum { RDMA_COPY_MAX = 4096 };	/* bytes of one copy */

/*
 * Copy between @buffer and the bus address @bus by DMA of the function, and wait for its end.
 * Context: rdma_function_lock() is held. @length: at most RDMA_COPY_MAX. Return: 0; -EIO the engine
 * reported an error or did not answer; -ENODEV the function is being removed.
 */
int rdma_function_read(struct rdma_function *f, void *buffer, dma_addr_t bus, u32 length);
int rdma_function_write(struct rdma_function *f, dma_addr_t bus, const void *buffer, u32 length);

/* Register the PCI driver. When it is unbound from a function, the adapter of the function ends. */
int rdma_functions_init(void);
void rdma_functions_exit(void);

#endif
