/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the scripts in edit/ insert into Soft-RoCE calls these functions. An adapter with a PCI function
 * reaches the memory of its users' MRs by DMA of the function; all else is Soft-RoCE's.
 */
#ifndef EMURDMA_MR_H
#define EMURDMA_MR_H

#include <linux/types.h>

struct ib_device;
struct rdma_memory;
struct rxe_mr;

int emurdma_init(void);
void emurdma_exit(void);

/*
 * Give the new adapter @dev a PCI function, and replace Soft-RoCE's operations on MRs. Called before
 * Soft-RoCE sets its operations, because the first that sets an operation wins. Without a free
 * function, the adapter stays one of Soft-RoCE.
 */
void emurdma_set_ops(struct ib_device *dev);

/* rxe_mr_copy(): 0 or -EFAULT */
int emurdma_copy(struct rxe_mr *mr, u64 iova, void *buffer, unsigned int length, bool to_memory);

/* An atomic operation. 0; -EFAULT; -EINVAL: @iova is not a multiple of 8 */
int emurdma_atomic(struct rxe_mr *mr, u64 iova, int opcode, u64 compare, u64 swap_add, u64 *old);

#endif
