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
	bool host;		/* from cudaHostAlloc() */
	bool no_rdma;		/* from cuMemCreate() without gpuDirectRDMACapable */
	bool pooled;		/* from cuMemAllocAsync() */
	uint64_t reserved;	/* from cuMemMap(): size of the reserved address range at @base; 0: not reserved */
	atomic_int synced;		/* number of times that SYNC_MEMOPS was set */
};

enum {
	MOCK_ALLOCATIONS = 4,
};

extern bool mock_cuda_loaded;
extern bool mock_cuda_old;	/* true: a driver without memory pools */
extern bool mock_cuda_older;	/* true: a driver without the attributes of mappings */
extern int mock_cuda_error;	/* result of every call; 0: the calls work */
extern atomic_int mock_cuda_calls;
extern int mock_cuda_export_error;	/* result of dma-buf exports; 0: they work */
extern bool mock_cuda_coherent;	/* the GPUs are coherent with the CPU */
extern int mock_cuda_pcie_error;	/* result of exports by PCIe, if the GPUs are coherent; 0: they work */
extern atomic_ullong mock_cuda_export_flags;	/* flags of the last export that worked */
extern int mock_cuda_fd;	/* descriptor of exported dma-bufs; -1: the driver cannot export */
extern void *mock_cuda_context; /* current context, needed to export and copy; NULL: no context */
extern int mock_cuda_primaries; /* number of references on the primary context */
extern int mock_cuda_primary_error; /* error of cuDevicePrimaryCtxRetain(); 0: it works */
extern struct mock_allocation mock_allocations[MOCK_ALLOCATIONS];

void mock_cuda_reset(void);

#endif
