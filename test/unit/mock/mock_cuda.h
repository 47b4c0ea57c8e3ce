/* SPDX-License-Identifier: MIT */
/* A make-believe CUDA of a few allocations, in place of lib/cuda/cuda_api.c. */
#ifndef MOCK_CUDA_H
#define MOCK_CUDA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mock_allocation {
	uint64_t base;
	uint64_t size;
	uint64_t id;		/* 0: this slot is empty */
	bool managed;
	bool host;		/* cudaHostAlloc() */
	bool no_rdma;		/* cuMemCreate() without gpuDirectRDMACapable */
	bool pooled;		/* cuMemAllocAsync() */
	uint64_t reserved;	/* cuMemMap(): bytes of addresses, from @base on */
	atomic_int synced;		/* how often SYNC_MEMOPS was set */
};

enum {
	MOCK_ALLOCATIONS = 4,
};

extern bool mock_cuda_loaded;
extern bool mock_cuda_old;	/* a driver that knows nothing of pools */
extern bool mock_cuda_older;	/* than the attributes of mappings */
extern int mock_cuda_error;	/* what every call returns */
extern atomic_int mock_cuda_calls;
extern int mock_cuda_export_error;	/* what the next exports of dma-bufs return */
extern int mock_cuda_fd;	/* what they are; -1: the driver has no such function */
extern void *mock_cuda_context; /* current one, without which nothing is exported or copied; NULL: none */
extern int mock_cuda_primaries; /* how often the primary context is retained */
extern int mock_cuda_primary_error; /* what retaining it returns */
extern struct mock_allocation mock_allocations[MOCK_ALLOCATIONS];

void mock_cuda_reset(void);

#endif
