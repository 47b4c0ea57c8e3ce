/* SPDX-License-Identifier: MIT */
/* A mock CUDA with a few allocations, in place of lib/cuda/cuda_api.c. */
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
	uint64_t reserved;	/* cuMemMap(): bytes of the address range that begins at @base */
	atomic_int synced;		/* how often SYNC_MEMOPS was set */
};

enum {
	MOCK_ALLOCATIONS = 4,
};

extern bool mock_cuda_loaded;
extern bool mock_cuda_old;	/* a driver without memory pools */
extern bool mock_cuda_older;	/* a driver without the attributes of mappings */
extern int mock_cuda_error;	/* result of every call */
extern atomic_int mock_cuda_calls;
extern int mock_cuda_export_error;	/* result of dma-buf exports */
extern int mock_cuda_fd;	/* descriptor of exported dma-bufs; -1: the driver cannot export */
extern void *mock_cuda_context; /* current context, needed to export and copy; NULL: none */
extern int mock_cuda_primaries; /* references on the primary context */
extern int mock_cuda_primary_error; /* error of retaining it */
extern struct mock_allocation mock_allocations[MOCK_ALLOCATIONS];

void mock_cuda_reset(void);

#endif
