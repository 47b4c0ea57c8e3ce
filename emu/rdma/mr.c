// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/version.h>
#include <rdma/ib_umem.h>
#include "rxe/rxe.h"
#include "rxe/rxe_loc.h"
#include "function.h"
#include "memory.h"
#include "mr.h"

/* ---- use ------------------------------------------------------------------------ */

int emurdma_copy(struct rxe_mr *mr, u64 iova, void *buffer, unsigned int length, bool to_memory)
{
	if (iova < mr->ibmr.iova)
		return -EFAULT;
	return rdma_memory_copy(mr->memory, iova - mr->ibmr.iova, buffer, length, to_memory);
}

int emurdma_atomic(struct rxe_mr *mr, u64 iova, int opcode, u64 compare, u64 swap_add, u64 *old)
{
	if (iova % sizeof(*old))
		return -EINVAL;
	if (iova < mr->ibmr.iova)
		return -EFAULT;
	return rdma_memory_atomic(mr->memory, iova - mr->ibmr.iova, opcode != IB_OPCODE_RC_COMPARE_SWAP,
				  compare, swap_add, old);
}

/* ---- registration --------------------------------------------------------------- */

/* Since 6.2 the caller allocates and frees the MR. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
static struct rxe_mr *mr_alloc(struct rxe_dev *rxe)
{
	return rxe_alloc(&rxe->mr_pool);
}

static void mr_free(struct rxe_mr *mr)
{
	rxe_cleanup(mr);
}

static void mr_set_user(struct rxe_mr *mr)
{
	mr->type = IB_MR_TYPE_USER;
}

static bool mr_takes(int access)
{
	return true;
}
#else
static struct rxe_mr *mr_alloc(struct rxe_dev *rxe)
{
	struct rxe_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (mr && rxe_add_to_pool(&rxe->mr_pool, mr)) {
		kfree(mr);
		return NULL;
	}
	return mr;
}

static void mr_free(struct rxe_mr *mr)
{
	rxe_cleanup(mr);
	kfree(mr);
}

static void mr_set_user(struct rxe_mr *mr)
{
	mr->ibmr.type = IB_MR_TYPE_USER;
	mr->ibmr.page_size = PAGE_SIZE;
	mr->page_shift = PAGE_SHIFT;
	mr->page_mask = PAGE_MASK;
}

/* No memory of a function is persistent. */
static bool mr_takes(int access)
{
	return !(access & (~RXE_ACCESS_SUPPORTED_MR | IB_ACCESS_FLUSH_PERSISTENT));
}
#endif

static struct rxe_mr *mr_new(struct ib_pd *pd, u64 length, u64 iova, int access)
{
	struct rxe_mr *mr;

	if (!mr_takes(access))
		return ERR_PTR(-EOPNOTSUPP);
	if (length && iova + length - 1 < iova)
		return ERR_PTR(-EINVAL);
	mr = mr_alloc(to_rdev(pd->device));
	if (!mr)
		return ERR_PTR(-ENOMEM);
	rxe_get(to_rpd(pd));
	mr->ibmr.pd = pd;
	mr->ibmr.device = pd->device;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	mr->ibmr.lkey = mr->ibmr.rkey = mr->elem.index << 8 | rxe_get_next_key(-1);
	mr->lkey = mr->rkey = mr->ibmr.lkey;
	mr->access = access;
	mr_set_user(mr);
	return mr;
}

/* The MR can be looked up from here on. */
static struct ib_mr *mr_finish(struct rxe_mr *mr)
{
	int ret;

	if (IS_ERR(mr->memory)) {
		ret = PTR_ERR(mr->memory);
		mr->memory = NULL;
		mr_free(mr);
		return ERR_PTR(ret);
	}
	mr->state = RXE_MR_STATE_VALID;
	rxe_finalize(mr);
	return &mr->ibmr;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 3, 0)
#define ib_umem_get_va ib_umem_get
#endif

/* As in MLNX_OFED, the clients are asked about memory that the kernel cannot pin. */
static struct rdma_memory *mr_memory(struct rxe_mr *mr, u64 start, u64 length)
{
	struct rdma_function *f = rdma_function_of(mr->ibmr.device);
	struct ib_umem *umem = ib_umem_get_va(mr->ibmr.device, start, length, mr->access);
	struct rdma_memory *m;

	if (!IS_ERR(umem)) {
		mr->umem = umem;
		return rdma_memory_host(f, umem, start, length);
	}
	m = rdma_memory_peer(f, start, length);
	return m == ERR_PTR(-ENXIO) ? ERR_CAST(umem) : m;
}

/* A DMA handle is NULL: the driver makes none. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define EMURDMA_DMAH
#else
#define EMURDMA_DMAH struct ib_dmah *dmah,
#endif

static struct ib_mr *emurdma_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
					 EMURDMA_DMAH struct ib_udata *udata)
{
	struct rxe_mr *mr = mr_new(pd, length, iova, access);

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->memory = mr_memory(mr, start, length);
	return mr_finish(mr);
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define EMURDMA_ATTRS struct ib_udata *udata
#else
#define EMURDMA_ATTRS struct uverbs_attr_bundle *attrs
#endif

static struct ib_mr *emurdma_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
						int access, EMURDMA_DMAH EMURDMA_ATTRS)
{
	struct rxe_mr *mr = mr_new(pd, length, iova, access);

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->memory = rdma_memory_dmabuf(rdma_function_of(pd->device), fd, offset, length);
	return mr_finish(mr);
}

/* ---- adapters ------------------------------------------------------------------- */

static void emurdma_dealloc(struct ib_device *dev)
{
	struct rdma_function *f = rdma_function_of(dev);

	rxe_dealloc(dev);
	rdma_function_release(f);
}

static const struct ib_device_ops emurdma_ops = {
	.dealloc_driver = emurdma_dealloc,
	.reg_user_mr = emurdma_reg_user_mr,
	.reg_user_mr_dmabuf = emurdma_reg_user_mr_dmabuf,
};

/*
 * DMA of a function does not wait for a page fault. Soft-RoCE of Linux 7 has set the operation before; its
 * prefetch looks for pages of a process, which an MR of a function does not have.
 */
static void adapter_forget_odp(struct ib_device *dev)
{
	struct ib_device_attr *attr = &to_rdev(dev)->attr;

	dev->ops.advise_mr = NULL;
	attr->kernel_cap_flags &= ~IBK_ON_DEMAND_PAGING;
	memset(&attr->odp_caps, 0, sizeof(attr->odp_caps));
}

void emurdma_set_ops(struct ib_device *dev)
{
	if (!rdma_function_claim(dev)) {
		pr_info("no free PCI function: the adapter registers host memory only\n");
		return;
	}
	ib_set_device_ops(dev, &emurdma_ops);
	adapter_forget_odp(dev);
}

int emurdma_init(void)
{
	return rdma_functions_init();
}

void emurdma_exit(void)
{
	rdma_functions_exit();
}
