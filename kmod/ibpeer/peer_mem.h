/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The InfiniBand core's interface to owners of memory that get_user_pages()
 * does not know, as MLNX_OFED, DOCA and some distributions' kernels have it. They
 * install it as <rdma/peer_mem.h>; upstream has none, so this is a header of our
 * own, of the same layout.
 *
 * For each registration that it can not do by itself the core calls acquire of
 * each client in turn until one returns 1, then of that one get_pages and dma_map;
 * dma_unmap and put_pages when the registration ends; release. In between the
 * client may call invalidate, which waits for what is under way, ends the device's
 * DMA, and calls dma_unmap and put_pages, unless INVALIDATE_UNMAPS says not to.
 */
#ifndef _PEERPIN_IBPEER_PEER_MEM_H
#define _PEERPIN_IBPEER_PEER_MEM_H

#include <linux/types.h>

/* Clients ask whether core_context is a u64; it was a pointer once. */
#define PEER_MEM_U64_CORE_CONTEXT

enum {
	IB_PEER_MEMORY_NAME_MAX = 64,
	IB_PEER_MEMORY_VER_MAX = 16,
};

struct device;
struct sg_table;

/**
 * struct peer_memory_client - who can map some kind of memory
 * @name: under which /sys/kernel/mm/memory_peers has it
 * @version: for people; a last byte that is not 0 says that it is the first
 *	member of a struct peer_memory_client_ex
 * @acquire: 1: the range is mine, and @context names it; else it is not. The
 *	second pair of arguments is always NULL
 * @get_pages: pin it; from here on invalidate may be called, with @core_context.
 *	@write is 1 and @sgt NULL
 * @dma_map: fill in @sgt for @dev, whose number of entries goes to @nmap
 * @dma_unmap: @dev does not use it any more; returns 0
 * @put_pages: undo get_pages
 * @get_page_size: the alignment of the entries of @sgt; where it is more than
 *	the CPU's page, the core cuts them to that
 * @release: undo acquire
 */
struct peer_memory_client {
	char name[IB_PEER_MEMORY_NAME_MAX];
	char version[IB_PEER_MEMORY_VER_MAX];
	int (*acquire)(unsigned long addr, size_t size, void *unused,
		       char *unused_name, void **context);
	int (*get_pages)(unsigned long addr, size_t size, int write, int force,
			 struct sg_table *sgt, void *context, u64 core_context);
	int (*dma_map)(struct sg_table *sgt, void *context, struct device *dev,
		       int dmasync, int *nmap);
	int (*dma_unmap)(struct sg_table *sgt, void *context,
			 struct device *dev);
	void (*put_pages)(struct sg_table *sgt, void *context);
	unsigned long (*get_page_size)(void *context);
	void (*release)(void *context);
};

enum {
	PEER_MEM_INVALIDATE_UNMAPS = 1 << 0,
};

struct peer_memory_client_ex {
	struct peer_memory_client client;
	size_t ex_size;
	u32 flags;
};

typedef int (*invalidate_peer_memory)(void *handle, u64 core_context);

/*
 * @invalidate: where the core puts its function; NULL: the memory stays until it
 * is released. Returns the handle, or NULL.
 */
void *ib_register_peer_memory_client(const struct peer_memory_client *client,
				     invalidate_peer_memory *invalidate);

/* returns when no registration of the client is left */
void ib_unregister_peer_memory_client(void *handle);

#endif
