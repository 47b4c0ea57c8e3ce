// SPDX-License-Identifier: MIT
/*
 * libemurdma.so, to be preloaded: ibv_reg_dmabuf_mr() for the emulated RDMA adapter. The adapter's
 * userspace driver is that of Soft-RoCE in rdma-core, which lacks this call; the kernel's driver has it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/**
 * struct driver_mr - what libibverbs and its drivers allocate as a struct ibv_mr
 *
 * The driver frees it in ibv_dereg_mr().
 */
struct driver_mr {
	struct ibv_mr mr;
	int type;
	int access;
};

enum { TYPE_DMABUF = 3 };	/* of @type: ibv_dereg_mr() has no pages to return to fork() */

enum { ATTRIBUTES = 9 };

struct request {
	struct ib_uverbs_ioctl_hdr header;
	struct ib_uverbs_attr attributes[ATTRIBUTES];
};

static void add(struct request *r, uint16_t id, uint16_t length, uint64_t data)
{
	r->attributes[r->header.num_attrs++] = (struct ib_uverbs_attr){
		.attr_id = id, .len = length, .flags = UVERBS_ATTR_F_MANDATORY, .data = data,
	};
}

/* Returns NULL with errno set. */
static struct ibv_mr *reg_by_ioctl(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
				   int access)
{
	struct driver_mr *m = calloc(1, sizeof(*m));
	struct request r = {
		.header = { .length = sizeof(r), .object_id = UVERBS_OBJECT_MR,
			    .method_id = UVERBS_METHOD_REG_DMABUF_MR, .driver_id = RDMA_DRIVER_RXE },
	};

	if (!m)
		return NULL;
	add(&r, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0, 0);
	add(&r, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, 0, pd->handle);
	add(&r, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, sizeof(offset), offset);
	add(&r, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, sizeof(length), length);
	add(&r, UVERBS_ATTR_REG_DMABUF_MR_IOVA, sizeof(iova), iova);
	add(&r, UVERBS_ATTR_REG_DMABUF_MR_FD, sizeof(uint32_t), (uint32_t)fd);
	add(&r, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, sizeof(uint32_t), (uint32_t)access);
	add(&r, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, sizeof(m->mr.lkey), (uintptr_t)&m->mr.lkey);
	add(&r, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, sizeof(m->mr.rkey), (uintptr_t)&m->mr.rkey);
	if (ioctl(pd->context->cmd_fd, RDMA_VERBS_IOCTL, &r)) {
		free(m);
		return NULL;
	}
	m->mr.context = pd->context;
	m->mr.pd = pd;
	m->mr.addr = (void *)(uintptr_t)iova;
	m->mr.length = length;
	m->mr.handle = (uint32_t)r.attributes[0].data;
	m->type = TYPE_DMABUF;
	m->access = access;
	return &m->mr;
}

/* A later libibverbs may have a driver with the call. */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	struct ibv_mr *(*next)(struct ibv_pd *, uint64_t, size_t, uint64_t, int, int) =
		(__typeof__(next))dlsym(RTLD_NEXT, "ibv_reg_dmabuf_mr");
	struct ibv_mr *mr = NULL;

	errno = EOPNOTSUPP;
	if (next)
		mr = next(pd, offset, length, iova, fd, access);
	if (mr || errno != EOPNOTSUPP)
		return mr;
	return reg_by_ioctl(pd, offset, length, iova, fd, access);
}
