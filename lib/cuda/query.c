// SPDX-License-Identifier: MIT
#include <linux/types.h>
#include <peerpin.h>
#include <stdbool.h>
#include "lib/sys/cancel.h"
#include "cuda_api.h"
#include "query.h"
#include "lib/sys/sys.h"

/** struct answer - results of one call of cuPointerGetAttributes() */
struct answer {
	unsigned int type;
	unsigned int managed;
	int device;
	unsigned long long start;
	size_t size;
	unsigned long long buffer_id;
	unsigned int rdma;
	void *pool;
	size_t mapping_size;
	unsigned long long mapping;
};

enum {
	ALL = 10,
	SINCE_POOLS = 8,	/* attributes of drivers with stream-ordered pools */
	SINCE_EVER = 6,		/* attributes of all drivers */
};

static int ask_for(const struct pp_cuda *cuda, const void *addr,
		   struct answer *a, unsigned int count)
{
	int what[ALL] = {
		PP_CU_MEMORY_TYPE, PP_CU_IS_MANAGED, PP_CU_DEVICE_ORDINAL,
		PP_CU_RANGE_START, PP_CU_RANGE_SIZE, PP_CU_BUFFER_ID,
		PP_CU_RDMA_CAPABLE, PP_CU_MEMPOOL,
		PP_CU_MAPPING_SIZE, PP_CU_MAPPING_START,
	};
	void *where[ALL] = {
		&a->type, &a->managed, &a->device,
		&a->start, &a->size, &a->buffer_id,
		&a->rdma, &a->pool,
		&a->mapping_size, &a->mapping,
	};

	*a = (struct answer){ .rdma = count == SINCE_EVER };
	return cuda->get_attributes(count, what, where, (uintptr_t)addr);
}

/*
 * Returns true if CUDA answered, even if CUDA does not know the address. A driver that
 * does not know an attribute rejects the whole list, so ask again for shorter lists. A
 * driver without the attributes of pools lets devices access all of its memory.
 */
static bool ask(const struct pp_cuda *cuda, const void *addr, struct answer *a)
{
	int ret = ask_for(cuda, addr, a, ALL);

	if (ret == PP_CU_INVALID_VALUE)
		ret = ask_for(cuda, addr, a, SINCE_POOLS);
	if (ret == PP_CU_INVALID_VALUE)
		ret = ask_for(cuda, addr, a, SINCE_EVER);
	return ret == PP_CU_SUCCESS;
}

/*
 * CUDA's range is either an allocation, which lies in one mapping, or a reservation of
 * addresses, which contains several mappings. The smaller of range and mapping can be
 * pinned.
 */
static void bounds(struct pp_mem *out, const struct answer *a)
{
	bool mapped = a->mapping_size && a->mapping >= a->start &&
		      a->mapping + a->mapping_size <= a->start + a->size;

	out->base = mapped ? a->mapping : a->start;
	out->size = mapped ? a->mapping_size : a->size;
}

static void fill_in(struct pp_mem *out, const struct answer *a)
{
	if (a->managed)
		out->kind = PP_MEM_MANAGED;
	else if (a->type == PP_CU_TYPE_DEVICE)
		out->kind = PP_MEM_GPU;
	else
		return;
	out->device = a->device;
	bounds(out, a);
	out->buffer_id = a->buffer_id;
	out->rdma = a->rdma != 0;
	out->pooled = a->pool != NULL;
}

static unsigned int provider_of(const struct pp_mem *mem,
				const struct answer *a)
{
	if (mem->kind == PP_MEM_GPU)
		return PEERPIN_PROVIDER_NV;
	if (a->type == PP_CU_TYPE_UNKNOWN)
		return PEERPIN_PROVIDER_HOST;
	return PEERPIN_PROVIDER_AUTO;
}

unsigned int pp_query_provider(const void *addr, struct pp_mem *out)
{
	PP_NO_CANCEL;
	const struct pp_cuda *cuda = pp_cuda();
	struct answer a;

	*out = (struct pp_mem){ .kind = PP_MEM_HOST, .device = -1 };
	if (!cuda || !ask(cuda, addr, &a))
		return PEERPIN_PROVIDER_AUTO;
	fill_in(out, &a);
	return provider_of(out, &a);
}

/* Also called by hits, where a cancelled thread would leave its reference behind. */
uint64_t pp_query_buffer_id(uint64_t addr)
{
	PP_NO_CANCEL;
	const struct pp_cuda *cuda = pp_cuda();
	unsigned long long id = 0;

	if (!cuda)
		return 0;
	if (cuda->get_attribute(&id, PP_CU_BUFFER_ID, addr) != PP_CU_SUCCESS)
		return 0;
	return id;
}

PP_PUBLIC int pp_query(const void *addr, struct pp_mem *out)
{
	PP_KEEP_ERRNO;

	if (!out)
		return -EINVAL;
	pp_query_provider(addr, out);
	return 0;
}

PP_PUBLIC int pp_sync_memops(const void *addr)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	const struct pp_cuda *cuda = pp_cuda();
	unsigned int on = 1;

	if (!cuda)
		return -EINVAL;
	switch (cuda->set_attribute(&on, PP_CU_SYNC_MEMOPS, (uintptr_t)addr)) {
	case PP_CU_SUCCESS:
		return 0;
	case PP_CU_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}
