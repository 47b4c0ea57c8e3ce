/* SPDX-License-Identifier: MIT */
/* A surface of one kind of memory, registered for RDMA in one way */
#ifndef CLUSTER_MEMORY_H
#define CLUSTER_MEMORY_H

#include <infiniband/verbs.h>
#include <libpeerpin.h>
#include <stddef.h>
#include <stdint.h>

enum memory_kind {
	MEMORY_HOST,
	MEMORY_GPU,		/* by its pointer: a peer-memory client of the InfiniBand core maps it */
	MEMORY_CUDA_DMABUF,	/* by a dma-buf of the GPU's driver, which keeps freed memory */
	MEMORY_REGION_DMABUF,	/* by a dma-buf of a region of peerpin, which ends when the memory is freed */
	MEMORY_KINDS,
};

/**
 * struct surface
 * @region: of MEMORY_REGION_DMABUF; id 0: none, or it has ended with its memory
 */
struct surface {
	enum memory_kind kind;
	uintptr_t at;
	size_t size;
	struct ibv_mr *mr;
	struct pp_region region;
};

const char *memory_name(enum memory_kind kind);

/* All return 0; or -1 after they have printed what failed. The calling thread has a CUDA context. */
int surface_open(struct surface *s, enum memory_kind kind, size_t size, struct ibv_pd *pd);
int surface_close(struct surface *s);

/* Free the memory, but not its registration, and allocate as much again: its next owner */
int surface_replace(struct surface *s);

/* Words that depend on @seed and on their place */
int surface_fill(const struct surface *s, uint64_t seed);
int surface_check(const struct surface *s, uint64_t seed);

/* In every process, before surfaces of the GPU */
int memory_init(void);

#endif
